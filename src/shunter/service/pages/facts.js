// Figures with their names.
import { h } from "./dom.js";
import { shown } from "./words.js";

export class Facts {
  constructor(body) {
    this.list = h("dl", { class: "facts" });
    body.append(this.list);
  }

  update({ facts }) {
    this.list.replaceChildren(...facts.map((fact) => h(
      "div", { class: `fact${fact.tone ? ` tone-${fact.tone}` : ""}` },
      h("dt", {}, fact.label),
      h("dd", {}, h("span", { class: `value${String(fact.value).length > 14 && fact.format === "text" ? " long" : ""}` }, shown(fact.value, fact.format)),
        fact.note ? h("span", { class: "note" }, fact.note) : null),
    )));
  }
}
