// A table that can be searched and sorted; what somebody has typed or chosen stays when new rows come.
import { h, settled } from "./dom.js";
import { IS_NUMBER, inWords, number, shown } from "./words.js";

const SEARCHED_FROM = 9;
const SHORT = 12;
const LONG = 24;

export class Table {
  constructor(body, { title }) {
    this.search = h("input", { type: "search", "aria-label": `Search in ${title}`, placeholder: "Search", autocomplete: "off" });
    this.search.addEventListener("input", settled(() => this.#rows(), 120));
    this.unfold = h("button", { type: "button", class: "unfold" });
    this.unfold.addEventListener("click", () => { this.isWhole = !this.isWhole; this.#rows(); });
    this.found = h("span", { class: "quiet", role: "status" });
    this.tools = h("div", { class: "tools" }, this.search, this.found);
    this.head = h("tr");
    this.rows = h("tbody");
    const place = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": title }, h("table", {}, h("thead", {}, this.head), this.rows));
    body.append(this.tools, place, this.unfold);
    this.isWhole = false;
    this.by = null;
    this.isDown = false;
    this.names = "";
  }

  update(content) {
    this.content = content;
    const names = JSON.stringify(content.columns);
    if (names !== this.names) {
      this.names = names;
      this.by = null;
      this.head.replaceChildren(...content.columns.map((column, place) => h(
        "th", { scope: "col", class: IS_NUMBER.has(column.format) ? "right" : null },
        h("button", { type: "button", onclick: () => this.#sort(place) }, column.name),
      )));
    }
    this.#rows();
  }

  #sort(place) {
    // Once up, once down, and then as it came.
    if (this.by !== place) { this.by = place; this.isDown = false; } else if (!this.isDown) this.isDown = true; else this.by = null;
    [...this.head.children].forEach((cell, other) => {
      if (other === this.by) cell.setAttribute("aria-sort", this.isDown ? "descending" : "ascending"); else cell.removeAttribute("aria-sort");
    });
    this.#rows();
  }

  #rows() {
    const { columns, rows, more } = this.content;
    const wanted = this.search.value.trim().toLowerCase();
    let kept = wanted ? rows.filter((row) => row.some((cell, place) => words(cell, columns[place].format).toLowerCase().includes(wanted))) : [...rows];
    if (this.by !== null) kept.sort((one, other) => compare(one[this.by], other[this.by]) * (this.isDown ? -1 : 1));
    const count = kept.length;
    if (!this.isWhole) kept = kept.slice(0, SHORT);
    this.rows.replaceChildren(...kept.map((row) => h("tr", {}, ...row.map((cell, place) => h(
      "td", { class: IS_NUMBER.has(cell?.format ?? columns[place].format) ? "right" : words(cell, columns[place].format).length > LONG ? "long" : null }, shown(cell, columns[place].format),
    )))));
    if (!count) this.rows.append(h("tr", {}, h("td", { class: "quiet", colspan: columns.length }, rows.length ? "No row has this." : "There are none.")));
    this.tools.hidden = rows.length < SEARCHED_FROM;
    this.found.textContent = wanted ? `${number(count)} of ${number(rows.length)}` : "";
    this.unfold.hidden = count <= SHORT;
    this.unfold.textContent = this.isWhole ? "Show fewer" : `Show all ${number(count)}`;
    this.unfold.setAttribute("aria-expanded", String(this.isWhole));
    if (more) this.rows.append(h("tr", {}, h("td", { class: "quiet", colspan: columns.length }, `${number(more)} more are not listed.`)));
  }
}

/** Returns what is seen of a cell, by which rows are searched; how long ago something was is no name of anything. */
function words(cell, format) {
  if (cell !== null && typeof cell === "object") return inWords(cell.value, cell.format);
  return format === "since" ? "" : inWords(cell, format);
}

function compare(one, other) {
  const [a, b] = [one, other].map((cell) => (cell !== null && typeof cell === "object" ? cell.value : cell));
  if (a === b) return 0;
  // What is missing comes last, whichever way.
  if (a === null || a === "") return 1;
  if (b === null || b === "") return -1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}
