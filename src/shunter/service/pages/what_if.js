// Sliders and choices; each change is answered by the simulator.
import { freshId, h, say, settled } from "./dom.js";
import { inWords, number } from "./words.js";
import { ask } from "./session.js";
import { PanelBox } from "./panel_box.js";

export class WhatIf {
  constructor(body, { source, box }) {
    this.source = source;
    this.form = h("form", { class: "controls" });
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", () => this.#changed());
    this.trouble = h("p", { class: "tone-bad", role: "alert" });
    this.answer = h("div", { class: "answer" });
    body.append(this.form, this.trouble, this.answer);
    this.box = new PanelBox(this.answer, source, box.level + 1);
    this.asked = 0;
    this.later = settled(() => this.#ask(), 150);
    this.known = "";
  }

  update({ controls }) {
    const known = JSON.stringify(controls);
    // What somebody is sliding stays as it is.
    if (known === this.known) return;
    const values = this.known ? this.#values() : {};
    this.known = known;
    this.form.replaceChildren(...controls.map((control) => (control.kind === "slider" ? slider(control, values) : choice(control, values))),
      ...(controls.length ? [h("button", { type: "reset" }, "Reset")] : []));
    this.form.onreset = () => { this.box.showAll({}); this.trouble.textContent = ""; setTimeout(() => this.#show(), 0); this.asked += 1; };
    this.#show();
  }

  #changed() {
    this.#show();
    this.later();
  }

  #show() {
    for (const input of this.form.querySelectorAll("input[type=range]")) {
      input.nextElementSibling.textContent = `${number(Number(input.value))} ${input.dataset.unit}`;
    }
  }

  #values() {
    const found = {};
    for (const element of this.form.elements) {
      if (element.name) found[element.name] = element.type === "range" ? Number(element.value) : element.value;
    }
    return found;
  }

  async #ask() {
    const mine = (this.asked += 1);
    this.answer.setAttribute("aria-busy", "true");
    try {
      const panels = await ask(this.source, this.#values());
      // Another question has been asked meanwhile.
      if (mine !== this.asked) return;
      this.trouble.textContent = "";
      this.box.showAll(panels);
      const facts = panels.facts?.content.facts.map((fact) => `${fact.label} ${inWords(fact.value, fact.format)} ${fact.note}`.trim()).join(", ");
      say(`The answer is there. ${facts ?? panels.figures?.lead ?? ""}`);
    } catch (error) {
      if (mine === this.asked) this.trouble.textContent = error.message;
    } finally {
      this.answer.removeAttribute("aria-busy");
    }
  }
}

function slider(control, values) {
  const id = freshId("slider");
  const value = values[control.name] ?? control.value;
  const input = h("input", { type: "range", id, name: control.name, min: control.low, max: control.high, step: control.step, value: control.value, "data-unit": control.unit });
  input.value = value;
  return h("p", { class: "control" }, h("label", { for: id }, control.label), input, h("output", { for: id }));
}

function choice(control, values) {
  const id = freshId("choice");
  const wanted = values[control.name] ?? control.value;
  const options = control.options.map((name) => h("option", { value: name, selected: name === control.value }, name));
  const select = h("select", { id, name: control.name }, ...options);
  if (control.options.includes(wanted)) select.value = wanted;
  return h("p", { class: "control" }, h("label", { for: id }, control.label), select);
}
