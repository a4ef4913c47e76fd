// A place for panels: each is made once by its kind, and told its new content when there is one.
import { freshId, h } from "./dom.js";
import { Facts } from "./facts.js";
import { Bars } from "./bars.js";
import { Table } from "./table.js";
import { Lines } from "./lines.js";
import { Nodes } from "./nodes.js";
import { Log } from "./log.js";
import { GanttView } from "./gantt_view.js";
import { WhatIf } from "./what_if.js";
import { Replay } from "./replay.js";

const VIEWS = {
  facts: Facts, bars: Bars, table: Table, lines: Lines, nodes: Nodes, log: Log, gantt: GanttView, "what-if": WhatIf, replay: Replay,
};
const FIRST = ["trouble", "facts"];

export class PanelBox {
  /** Panels of one source, in an element. */
  constructor(place, source, level = 2) {
    this.source = source;
    this.level = level;
    this.grid = h("div", { class: "panels" });
    place.append(this.grid);
    this.panels = new Map();
    this.isVisible = true;
  }

  /** Shows a panel, or a new content of it; null takes it away. */
  show(key, panel) {
    const known = this.panels.get(key);
    if (panel === null || (known && known.kind !== panel.kind)) {
      known?.view.close?.();
      known?.section.remove();
      this.panels.delete(key);
    }
    if (panel === null) return;
    const shown = this.panels.get(key) ?? this.#make(key, panel);
    shown.title.textContent = panel.title;
    shown.lead.textContent = panel.lead;
    shown.lead.hidden = !panel.lead;
    shown.content = panel.content;
    // A picture that nobody sees has no size: it is drawn when its tab is chosen.
    if (this.isVisible) shown.view.update(panel.content); else shown.isStale = true;
  }

  /** Shows several panels, and takes all others away. */
  showAll(panels) {
    for (const key of [...this.panels.keys()]) if (!(key in panels)) this.show(key, null);
    for (const [key, panel] of Object.entries(panels)) this.show(key, panel);
  }

  setVisible(isVisible) {
    this.isVisible = isVisible;
    for (const shown of this.panels.values()) {
      if (isVisible && shown.isStale) {
        shown.isStale = false;
        shown.view.update(shown.content);
      }
      if (!isVisible) shown.view.rest?.();
    }
  }

  /** Returns the view of a panel of the same source. */
  view(key) {
    return this.panels.get(key)?.view;
  }

  #make(key, panel) {
    const id = freshId("panel");
    const title = h(`h${this.level}`, { id });
    const lead = h("p", { class: "lead" });
    const body = h("div", { class: "body" });
    const section = h("section", { class: `panel kind-${panel.kind}${panel.wide ? " wide" : ""}`, "aria-labelledby": id, "data-key": key }, title, lead, body);
    const View = VIEWS[panel.kind];
    const shown = { kind: panel.kind, section, title, lead, view: new View(body, { box: this, source: this.source, title: panel.title }) };
    this.panels.set(key, shown);
    if (FIRST.includes(key)) {
      const before = key === "trouble" ? this.grid.firstChild : this.panels.get("trouble")?.section.nextSibling ?? this.grid.firstChild;
      this.grid.insertBefore(section, before);
    } else {
      this.grid.append(section);
    }
    return shown;
  }
}
