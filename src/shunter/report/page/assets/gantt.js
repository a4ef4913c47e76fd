// A Gantt chart of many jobs on a canvas: zoom, pan, search, and a click that tells of a job. It needs nothing else, and
// takes its colors from the custom properties of page.css.
//
// It is four scripts, in this order: gantt_bars.js, gantt_painter.js, gantt_hands.js, gantt.js.
//
//   const gantt = new Gantt(element, data, options);
//   gantt.set(data);             // other data, the same view
//   gantt.append({bars, jobs});  // more of them
//   gantt.recolor();             // the page's theme has changed
//   gantt.select(job); gantt.find("alice"); gantt.show(from, to); gantt.draw();
//
// data:
//   lanes   [{name, size}]: from the top; size in cores, GPUs or 1
//   bars    columns of equal length: start, end (seconds); job (place in jobs); either lane, with offset and height in
//           the lane (none: all of it), or low and high over all lanes; predicted (1: drawn lighter), and for those
//           earliest and latest (the interval of the start)
//   jobs    columns of equal length: id; others that options.fields and options.colors name
//   origin  Unix seconds of time 0, to show dates; null: times since the beginning
//   now     a line at this time; null: none
// options (all may be left out):
//   label, unit, height
//   fields  [{title, column, kind}]: what is told of a job; kind: text, number, time, duration, or a list of names
//   notes   {column, texts, own}: why it waited: texts[value], with {column} replaced; own: {job: text} goes first
//   colors  [{title, column, names}] for categories (place in names, or texts), or with edges for a scale of numbers;
//           fixed: each of the names, seven at most, keeps its color whatever else there is
"use strict";
(() => {
  const { Bars, clamp, duration, moment, painting, hands, DIM, LIGHT } = window.GanttParts;
  const HELP = "Drag to move; Ctrl + wheel, pinch or double-click to zoom; Shift + wheel zooms rows. Keyboard: arrows move, + and − zoom, 0 shows all, N and P go to the next and the previous job, Esc clears.";

  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  class Gantt {
    constructor(element, data, options = {}) {
      this.element = element;
      this.options = options;
      this.height = options.height || 430;
      this.matches = null;
      this.selected = null;
      this.build();
      this.set(data);
      this.resizing = new ResizeObserver(() => this.draw());
      this.resizing.observe(this.canvas);
    }

    build() {
      const { label = "Gantt chart of jobs" } = this.options, id = `gantt-${Math.random().toString(36).slice(2)}`;
      this.canvas = make("canvas", { tabindex: "0", role: "application", "aria-roledescription": "Gantt chart", "aria-label": label, "aria-describedby": `${id}-help` });
      this.canvas.style.height = `${this.height}px`;
      this.overview = make("canvas", { class: "overview", "aria-hidden": "true" });
      this.tip = make("div", { class: "tip", hidden: "" });
      this.search = make("input", { type: "search", placeholder: "job or user", "aria-label": "Search a job by its id, or a user", autocomplete: "off", spellcheck: "false" });
      this.found = make("span", { class: "found", role: "status" });
      this.coloring = make("select", { "aria-label": "What colors mean" });
      this.legend = make("ul", { class: "legend" });
      this.card = make("div", { class: "job", hidden: "", tabindex: "-1" });
      this.said = make("div", { class: "unseen", "aria-live": "polite" });
      const button = (text, title, act) => {
        const one = make("button", { type: "button", title, "aria-label": title }, text);
        one.addEventListener("click", act);
        return one;
      };
      const tools = make("div", { class: "tools" }, this.search, this.found,
        button("←", "Earlier", () => this.pan(-0.5)), button("→", "Later", () => this.pan(0.5)),
        button("+", "Zoom in", () => this.zoom(0.5)), button("−", "Zoom out", () => this.zoom(2)), button("All", "Show all", () => this.fit()));
      this.coloringLabel = make("label", {}, "colors", this.coloring);
      tools.append(this.coloringLabel);
      this.stage = make("div", { class: "stage" }, this.canvas, this.overview, this.tip);
      this.root = make("div", { class: "shunter-gantt" }, tools, this.stage, this.legend,
        make("p", { class: "help", id: `${id}-help` }, HELP), this.said, this.card);
      this.element.append(this.root);
      this.listen();
    }

    // ---- Data

    set(data) {
      const first = !this.bars, kept = this.selected === null || !this.data ? null : this.idOf(this.selected);
      this.data = data;
      this.bars = new Bars(data);
      this.whole = this.bars.span(data.now);
      if (first || this.following) this.fit(false);
      this.selected = kept === null ? null : this.placeOf(kept);
      if (this.selected === null) this.card.hidden = true;
      this.fillColoring();
      this.find(this.search.value, false);
      this.drawOverview();
    }

    append(more) {
      const joined = (one, other) => {
        const names = new Set([...Object.keys(one || {}), ...Object.keys(other || {})]);
        return Object.fromEntries([...names].map((name) => [name, [...((one || {})[name] || []), ...((other || {})[name] || [])]]));
      };
      const shift = (this.data.jobs.id || []).length, bars = { ...more.bars };
      if (bars.job) bars.job = Array.from(bars.job, (job) => job + shift);
      this.set({ ...this.data, ...more, bars: joined(this.data.bars, bars), jobs: joined(this.data.jobs, more.jobs) });
    }

    idOf(job) { return String(((this.data.jobs || {}).id || [])[job] ?? job); }
    placeOf(id) {
      const place = Array.prototype.findIndex.call((this.data.jobs || {}).id || [], (one) => String(one) === id);
      return place < 0 ? null : place;
    }
    value(job, column) {
      const values = (this.data.jobs || {})[column];
      return values ? values[job] : undefined;
    }
    text(job, { column, kind }) {
      const value = this.value(job, column);
      if (kind === "users") kind = this.data.users;
      if (Array.isArray(kind)) return kind[value] ?? "–";
      if (value === null || value === undefined || Number.isNaN(value)) return "–";
      if (kind === "time") return moment(value, this.data.origin);
      if (kind === "duration") return duration(value);
      return kind === "number" ? Number(value).toLocaleString("en", { maximumFractionDigits: 2 }) : String(value);
    }

    // ---- Colors

    fillColoring() {
      const ways = this.options.colors || [], kept = this.coloring.value;
      this.coloring.textContent = "";
      ways.forEach((way, at) => this.coloring.append(make("option", { value: String(at) }, way.title)));
      this.coloring.value = kept && kept < ways.length ? kept : "0";
      this.coloringLabel.hidden = ways.length < 2;
      this.color();
    }
    // Takes the colors of the page anew, when its theme has changed.
    recolor() {
      this.theme = null;
      this.draw();
    }
    // Gives each bar the number of its color, and each number its meaning.
    color() {
      const way = (this.options.colors || [])[Number(this.coloring.value) || 0], jobs = this.data.jobs || {}, bars = this.bars;
      this.tints = new Uint8Array(bars.count).fill(1);
      this.theme = null;
      this.meanings = [];
      this.scale = 0;
      if (!way || !jobs[way.column]) return;
      const values = jobs[way.column];
      if (way.edges) {
        this.scale = way.edges.length + 1;
        this.meanings = way.names;
        for (let at = 0; at < bars.count; at++) {
          let level = 0;
          while (level < way.edges.length && values[bars.job[at]] > way.edges[level]) level++;
          this.tints[at] = 1 + level;
        }
        return;
      }
      const areas = new Map();
      for (let at = 0; at < bars.count; at++) {
        const value = values[bars.job[at]], area = (bars.end[at] - bars.start[at]) * (bars.high[at] - bars.low[at]);
        areas.set(value, (areas.get(value) || 0) + area);
      }
      const largest = () => [...areas].sort((one, other) => other[1] - one[1]).slice(0, 7).map(([value]) => value);
      const top = way.fixed ? way.names.map((_, at) => at) : largest();
      const places = new Map(top.map((value, at) => [value, at + 1]));
      for (let at = 0; at < bars.count; at++) this.tints[at] = places.get(values[bars.job[at]]) || 8;
      const names = way.names === "users" ? this.data.users : way.names;
      const name = (value) => (names ? names[value] : value) ?? "unknown";
      this.meanings = [...top.map(name), ...(areas.size > 7 ? [`${areas.size - 7} others`] : [])];
    }
    drawLegend() {
      const hex = (at) => `rgb(${this.theme.parts[at].join(",")})`;
      this.legend.textContent = "";
      this.meanings.forEach((meaning, at) => {
        const swatch = make("i");
        swatch.style.background = hex(at + 1);
        this.legend.append(make("li", {}, swatch, String(meaning)));
      });
    }

    // ---- The view

    fit(drawn = true) {
      const [low, high] = this.whole, edge = (high - low) * 0.01;
      this.view = { from: low - edge, to: high + edge, top: 0, bottom: this.bars.rows };
      if (drawn) this.draw();
    }
    show(from, to, top = this.view.top, bottom = this.view.bottom) {
      const [low, high] = this.whole, longest = (high - low) * 1.1, length = clamp(to - from, Math.min(longest, 1e-3), longest);
      const middle = clamp((from + to) / 2, low, high), rows = this.bars.rows;
      const tall = clamp(bottom - top, Math.min(rows, 1), rows), head = clamp(top, 0, rows - tall);
      this.view = { from: middle - length / 2, to: middle + length / 2, top: head, bottom: head + tall };
      this.following = false;
      this.draw();
    }
    pan(part, rows = 0) {
      const { from, to, top, bottom } = this.view, by = (to - from) * part, down = (bottom - top) * rows;
      this.show(from + by, to + by, top + down, bottom + down);
    }
    zoom(factor, at = 0.5, rowFactor = 1, row = 0.5) {
      const { from, to, top, bottom } = this.view, time = from + (to - from) * at, place = top + (bottom - top) * row;
      this.show(time - (time - from) * factor, time + (to - time) * factor, place - (place - top) * rowFactor, place + (bottom - place) * rowFactor);
    }

    // ---- Search and selection

    find(text, moved = true) {
      const wanted = text.trim().toLowerCase(), jobs = this.data.jobs || {}, ids = jobs.id || [];
      this.matches = null;
      this.found.textContent = "";
      if (wanted) {
        const names = this.data.users, user = (job) => String((names ? names[jobs.user[job]] : jobs.user && jobs.user[job]) ?? "").toLowerCase();
        const places = Array.from({ length: ids.length }, (_, job) => job), id = (job) => String(ids[job]).toLowerCase();
        const ways = [(job) => id(job) === wanted, (job) => user(job) === wanted, (job) => user(job).startsWith(wanted), (job) => id(job).includes(wanted)];
        const found = ways.map((way) => () => places.filter(way)).reduce((held, way) => (held.length ? held : way()), []);
        this.matches = new Set(found);
        this.found.textContent = found.length === 1 ? "1 job" : `${found.length.toLocaleString("en")} jobs`;
        if (found.length === 1 && moved) this.select(found[0], true);
      }
      this.colorNow();
      this.draw();
    }
    colorNow() {
      const { bars, matches } = this;
      this.shades = new Uint8Array(bars.count);
      for (let at = 0; at < bars.count; at++)
        this.shades[at] = this.tints[at] + (bars.predicted[at] ? LIGHT : 0) + (matches && !matches.has(bars.job[at]) ? DIM : 0);
    }
    select(job, shown = false) {
      this.selected = job;
      this.card.hidden = job === null;
      if (job !== null) {
        this.tell(job);
        const own = this.bars.ofJob(job);
        if (shown && own.length) this.reveal(own);
      }
      this.draw();
    }
    reveal(own) {
      const start = Math.min(...own.map((at) => this.bars.start[at])), end = Math.max(...own.map((at) => this.bars.end[at]));
      const { from, to, top, bottom } = this.view, length = to - from;
      const low = Math.min(...own.map((at) => this.bars.low[at])), high = Math.max(...own.map((at) => this.bars.high[at]));
      const seen = start >= from && end <= to && (end - start) / length > 0.004 && low < bottom && high > top;
      if (seen) return;
      const wide = Math.max((end - start) * 8, Math.min(length, (end - start) * 60), 1), middle = (start + end) / 2;
      const shift = low >= bottom || high <= top ? (low + high) / 2 - (top + bottom) / 2 : 0;
      this.show(middle - wide / 2, middle + wide / 2, top + shift, bottom + shift);
    }
    next(by) {
      const places = this.matches ? [...this.matches] : Array.from({ length: ((this.data.jobs || {}).id || []).length }, (_, at) => at);
      if (!places.length) return;
      const at = this.selected === null ? -1 : places.indexOf(this.selected);
      this.select(places[(at + by + places.length + (at < 0 && by < 0 ? 1 : 0)) % places.length], true);
    }
    lanesOf(job) {
      const names = [];
      for (const at of this.bars.ofJob(job))
        for (let lane = this.bars.laneAt(this.bars.low[at]); lane < this.bars.lanes.length && this.bars.base[lane] < this.bars.high[at] - 1e-9; lane++)
          if (!names.includes(this.bars.lanes[lane].name)) names.push(this.bars.lanes[lane].name);
      return names;
    }
    fieldOf(column) { return (this.options.fields || []).find((field) => field.column === column); }
    noteOf(job) {
      const { notes } = this.options;
      if (!notes) return "";
      if (notes.own && notes.own[job] !== undefined) return notes.own[job];
      const text = notes.texts[this.value(job, notes.column)] || "";
      return text.replace(/\{(\w+)(?::(\w+))?\}/g, (_, column, kind) => this.text(job, { column, kind: kind || (this.fieldOf(column) || { kind: "number" }).kind }));
    }
    tell(job) {
      const lines = make("dl"), title = `Job ${this.idOf(job)}`, lanes = this.lanesOf(job);
      const pairs = (this.options.fields || []).map((field) => [field.title, this.text(job, field)]).filter(([, text]) => text !== "–");
      if (lanes.length && this.bars.lanes.length > 1) pairs.push([lanes.length > 1 ? `${lanes.length} nodes` : "node", lanes.slice(0, 12).join(", ") + (lanes.length > 12 ? " …" : "")]);
      for (const [name, text] of pairs) lines.append(make("div", {}, make("dt", {}, name), make("dd", {}, text)));
      this.card.textContent = "";
      this.card.append(make("h4", {}, title), lines);
      const note = this.noteOf(job);
      if (note) this.card.append(make("p", {}, note));
      this.said.textContent = [title, ...pairs.map(([name, text]) => `${name} ${text}`), note].join(". ");
    }

    // ---- Drawing

    draw() {
      if (this.waiting) return;
      this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
    }
  }
  Object.assign(Gantt.prototype, painting, hands);
  window.Gantt = Gantt;
})();
