// Nodes as cells that fill with what is taken of them, GPUs as small squares, and the same as a table.
import { h } from "./dom.js";
import { number, share } from "./words.js";

export class Nodes {
  constructor(body) {
    this.scattered = h("p", { class: "quiet" });
    this.map = h("div", { class: "node-map", "aria-hidden": "true" });
    this.about = h("p", { class: "about", role: "status" });
    this.rows = h("tbody");
    const head = h("tr", {}, ...["Node", "Cores in use", "Cores", "GPUs in use", "GPUs", "Jobs"].map((name) => h("th", { scope: "col" }, name)));
    this.numbers = h("details", { class: "numbers" }, h("summary", {}, "As a table"),
      h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Nodes" }, h("table", {}, h("thead", {}, head), this.rows)));
    this.numbers.addEventListener("toggle", () => this.#table());
    body.append(this.scattered, this.map, this.about, this.numbers);
    this.map.addEventListener("click", (event) => {
      const cell = event.target.closest("[data-node]");
      if (cell) this.#tell(Number(cell.dataset.node));
    });
  }

  update({ nodes, scattered }) {
    this.nodes = nodes;
    const parts = [["cores", scattered.cores], ["whole GPUs", scattered.gpus]].filter(([, part]) => part !== null);
    this.scattered.textContent = parts.length
      ? `${parts.map(([what, part]) => `${share(part)} of the free ${what}`).join(" and ")} stand on partly used nodes.`
      : "Nothing is free.";
    this.map.classList.toggle("many", nodes.length > 200);
    this.map.classList.toggle("one", nodes.length === 1);
    this.map.replaceChildren(...nodes.map((node, place) => this.#cell(node, place)));
    this.#table();
  }

  #cell(node, place) {
    const cell = h("div", { class: `node${node.is_down ? " down" : ""}`, "data-node": place, title: words(node) });
    const fill = h("span", { class: "fill" });
    fill.style.height = `${node.cores ? Math.min(100, (100 * node.used_cores) / node.cores) : 0}%`;
    cell.append(fill);
    if (node.gpus_used.length) {
      cell.append(h("span", { class: "gpus" }, ...node.gpus_used.map((part) => h("i", { class: part >= 0.999 ? "full" : part > 0 ? "part" : null }))));
    }
    return cell;
  }

  #tell(place) {
    this.about.textContent = words(this.nodes[place]);
  }

  #table() {
    if (!this.numbers.open) return;
    this.rows.replaceChildren(...this.nodes.map((node) => h("tr", {},
      h("th", { scope: "row" }, `${node.name}${node.is_down ? " (down)" : ""}`),
      ...[number(node.used_cores), number(node.cores), number(total(node)), number(node.gpus)].map((text) => h("td", { class: "right" }, text)),
      h("td", {}, node.jobs.join(", ")),
    )));
  }
}

function total(node) {
  return node.gpus_used.reduce((sum, part) => sum + part, 0);
}

function words(node) {
  const gpus = node.gpus ? `, ${number(total(node))} of ${number(node.gpus)} GPUs` : "";
  const jobs = node.jobs.length ? `; jobs ${node.jobs.join(", ")}` : "";
  return `${node.name}${node.is_down ? " is down" : ""}: ${number(node.used_cores)} of ${number(node.cores)} cores in use${gpus}${jobs}`;
}
