// The Gantt chart of reports (gantt.js), told of past, now, and those that are expected.
import { h } from "./dom.js";
import { now as clockNow } from "./words.js";

const STATES = ["ended", "failed", "runs, lighter: may run until", "expected to start"];
const [RUNNING, EXPECTED] = [2, 3];
const NAMES = ["ended", "failed", "running"];
const REDRAW_MS = 5000;
const LEAST_S = 900;
const MOST_LINE_PART = 0.5;

export class GanttView {
  constructor(body, { title }) {
    this.title = title;
    this.place = h("div");
    body.append(this.place);
    this.isTouched = false;
    addEventListener("theme", () => this.gantt?.recolor());
    for (const kind of ["pointerdown", "wheel", "keydown"]) this.place.addEventListener(kind, () => { this.isTouched = true; }, { passive: true });
    this.timer = setInterval(() => this.#goOn(), REDRAW_MS);
  }

  close() {
    clearInterval(this.timer);
  }

  update(content) {
    this.content = content;
    this.isOfLog = content.now_s !== null;
    this.now = this.isOfLog ? (this.now ?? content.now_s) : clockNow();
    this.#show();
  }

  /** Moves the line of now, on the clock of a log. */
  setNow(time) {
    this.now = time;
    if (!this.gantt) return;
    this.gantt.data.now = time - this.zero;
    this.gantt.draw();
  }

  #goOn() {
    // Those that run go on, and so does now; what nobody sees is drawn when it is seen.
    if (!this.content || this.isOfLog || this.place.offsetParent === null) return;
    this.now = clockNow();
    this.#show();
  }

  #show() {
    const data = this.#data();
    if (this.gantt) {
      this.gantt.set(data);
    } else {
      this.gantt = new window.Gantt(this.place, data, {
        label: this.title,
        height: Math.min(560, Math.max(220, 40 + 16 * (this.content.lanes.length + this.content.line.job.length))),
        fields: [
          { title: "what", column: "what", kind: "text" }, { title: "state", column: "state", kind: STATES },
          { title: "submitted", column: "submit", kind: "time" }, { title: "start", column: "start", kind: "time" },
          { title: "earliest start", column: "low", kind: "time" }, { title: "latest start", column: "high", kind: "time" },
          { title: "end", column: "end", kind: "time" },
        ],
        colors: [{ title: "state", column: "state", names: STATES, fixed: true }],
      });
    }
    if (!this.isTouched && !this.isOfLog) this.#follow(data);
  }

  /** Shows as much of the past as of what is to come, until somebody moves the chart. */
  #follow(data) {
    const ends = data.bars.latest.filter(Number.isFinite);
    const after = Math.max(LEAST_S, ...ends.map((end) => end - data.now)) * 1.05;
    this.gantt.show(data.now - after, data.now + after);
  }

  #data() {
    const { lanes, bars, line } = this.content;
    this.zero = Math.min(this.now, least(bars.start_s));
    const at = (time) => (time === null || time === undefined ? NaN : time - this.zero);
    const total = lanes.length ? lanes[lanes.length - 1].bottom : 1;
    const part = Math.min(MOST_LINE_PART, 0.04 * line.job.length);
    const size = line.job.length ? (total * part) / (1 - part) / line.job.length : 0;
    const jobs = { id: [], what: [], user: [], state: [], submit: [], start: [], low: [], high: [], end: [] };
    const drawn = { start: [], end: [], low: [], high: [], job: [], predicted: [], earliest: [], latest: [] };
    const job = (id, what, state, more) => {
      const values = { id, what, user: what, state, submit: NaN, start: NaN, low: NaN, high: NaN, end: NaN, ...more };
      for (const name of Object.keys(jobs)) jobs[name].push(values[name]);
      return jobs.id.length - 1;
    };
    const bar = (place, start, end, low, high, predicted, earliest = NaN, latest = NaN) => {
      const values = { job: place, start, end, low, high, predicted, earliest, latest };
      for (const name of Object.keys(drawn)) drawn[name].push(values[name]);
    };
    const known = new Map();
    bars.job.forEach((id, number) => {
      const state = NAMES.indexOf(bars.state[number]);
      const [start, end] = [at(bars.start_s[number]), at(bars.end_s[number])];
      const key = `${id} ${state} ${start}`;
      if (!known.has(key)) known.set(key, job(id, bars.note[number], state, { start, end: state === RUNNING && end <= at(this.now) ? NaN : end }));
      if (state !== RUNNING) {
        bar(known.get(key), start, end, bars.top[number], bars.bottom[number], 0);
        return;
      }
      bar(known.get(key), start, at(this.now), bars.top[number], bars.bottom[number], 0);
      if (end > at(this.now)) bar(known.get(key), at(this.now), end, bars.top[number], bars.bottom[number], 1);
    });
    line.job.forEach((id, number) => {
      const [low, median, high] = [line.low_s, line.median_s, line.high_s].map((column) => at(column[number]));
      const place = job(id, line.note[number], EXPECTED, { submit: at(line.submit_s[number]), start: median, low, high });
      if (Number.isNaN(median)) return;
      const top = total + number * size;
      bar(place, median, median + (line.run_s[number] ?? 60), top, top + size, 1, low, Number.isNaN(high) ? median : high);
    });
    const rows = lanes.map((lane) => ({ name: lane.name, size: lane.bottom - lane.top }));
    rows.push(...line.job.map((id) => ({ name: `waits: ${id}`, size })));
    // The chart tells times of day of the meridian; shifted, they are those of this browser.
    const zone = new Date(this.zero * 1000).getTimezoneOffset() * 60;
    return { lanes: rows, bars: drawn, jobs, now: at(this.now), origin: this.isOfLog ? null : this.zero - zone };
  }
}

function least(values) {
  let found = Infinity;
  for (const value of values) if (value < found) found = value;
  return found;
}
