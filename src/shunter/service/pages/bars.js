// How much there is of each name, as bars that are a table.
import { h } from "./dom.js";
import { number } from "./words.js";

export class Bars {
  constructor(body) {
    this.body = body;
  }

  update({ rows, what }) {
    if (!rows.length) {
      this.body.replaceChildren(h("p", { class: "quiet" }, `There are no ${what}.`));
      return;
    }
    const most = Math.max(...rows.map(([, count]) => count), 1);
    const lines = rows.map(([name, count]) => {
      const bar = h("span", { class: "bar", "aria-hidden": "true" });
      bar.style.width = `${(100 * count) / most}%`;
      return h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "right" }, number(count)), h("td", { class: "track", "aria-hidden": "true" }, bar));
    });
    this.body.replaceChildren(h("table", { class: "bars" },
      h("thead", { class: "unseen" }, h("tr", {}, h("th", { scope: "col" }, "Name"), h("th", { scope: "col" }, what), h("td"))),
      h("tbody", {}, ...lines)));
  }
}
