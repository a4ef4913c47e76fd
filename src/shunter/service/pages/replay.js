// A simulation played through: a time that goes on, and what is known and decided at it.
import { freshId, h, settled } from "./dom.js";
import { seconds } from "./words.js";
import { ask } from "./session.js";
import { PanelBox } from "./panel_box.js";

const SPEEDS = [["1 minute a second", 60], ["10 minutes a second", 600], ["1 hour a second", 3600], ["6 hours a second", 21600], ["1 day a second", 86400]];
const ASK_MS = 700;
const STEP_MS = 100;

export class Replay {
  constructor(body, { source, box }) {
    this.source = source;
    this.outer = box;
    const [rangeId, speedId] = [freshId("time"), freshId("speed")];
    this.play = h("button", { type: "button", "aria-pressed": "false" }, "Play");
    this.play.addEventListener("click", () => (this.timer ? this.rest() : this.#start()));
    this.range = h("input", { type: "range", id: rangeId, step: 60 });
    this.range.addEventListener("input", () => { this.time = Number(this.range.value); this.#show(); this.later(); });
    this.when = h("output", { for: rangeId });
    this.speed = h("select", { id: speedId }, ...SPEEDS.map(([name, value]) => h("option", { value, selected: value === 3600 }, name)));
    this.trouble = h("p", { class: "tone-bad", role: "alert" });
    const place = h("div", { class: "answer" });
    body.append(h("div", { class: "controls" }, this.play,
      h("p", { class: "control" }, h("label", { for: speedId }, "Speed"), this.speed),
      h("p", { class: "control time" }, h("label", { for: rangeId }, "Time"), this.range, this.when)), this.trouble, place);
    this.box = new PanelBox(place, source, box.level + 1);
    this.later = settled(() => this.#ask(), 150);
    this.asked = 0;
    this.askedMs = 0;
  }

  update({ first_s, last_submit_s }) {
    this.first = first_s;
    this.last = last_submit_s;
    Object.assign(this.range, { min: first_s, max: last_submit_s });
    this.time ??= first_s + (last_submit_s - first_s) / 2;
    this.range.value = this.time;
    this.#show();
    this.later();
  }

  /** Stops: nobody looks any more, or wants it to. */
  rest() {
    clearInterval(this.timer);
    this.timer = 0;
    this.play.textContent = "Play";
    this.play.setAttribute("aria-pressed", "false");
  }

  close() {
    this.rest();
  }

  #start() {
    if (this.time >= this.last) this.time = this.first;
    this.timer = setInterval(() => this.#step(), STEP_MS);
    this.play.textContent = "Pause";
    this.play.setAttribute("aria-pressed", "true");
  }

  #step() {
    this.time = Math.min(this.last, this.time + (Number(this.speed.value) * STEP_MS) / 1000);
    this.range.value = this.time;
    this.#show();
    if (performance.now() - this.askedMs > ASK_MS) this.#ask();
    if (this.time >= this.last) this.rest();
  }

  #show() {
    const words = `${seconds(this.time - this.first)} after the first job`;
    this.when.textContent = words;
    this.range.setAttribute("aria-valuetext", words);
    this.outer.view("gantt")?.setNow(this.time);
  }

  async #ask() {
    const mine = (this.asked += 1);
    this.askedMs = performance.now();
    try {
      const panels = await ask(this.source, { at_s: this.time });
      if (mine < this.shown) return;
      this.shown = mine;
      this.trouble.textContent = "";
      this.box.showAll(panels);
    } catch (error) {
      this.rest();
      this.trouble.textContent = error.message;
    }
  }
}
