// What has happened, the latest first.
import { h } from "./dom.js";
import { shown } from "./words.js";

export class Log {
  constructor(body, { title }) {
    this.list = h("ol", { class: "log", tabindex: "0", "aria-label": title });
    body.append(this.list);
  }

  update({ entries }) {
    const lines = entries.map(([time, kind, text]) => h(
      "li", {}, shown(time, "clock"), kind ? h("span", { class: "kind" }, kind) : null, h("span", { class: "words" }, text),
    ));
    this.list.replaceChildren(...(lines.length ? lines : [h("li", { class: "quiet" }, "Nothing yet.")]));
  }
}
