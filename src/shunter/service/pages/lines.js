// Curves over one axis, with the value under the pointer, and the numbers as a table.
import { h, svg } from "./dom.js";
import { clock, number } from "./words.js";

const HEIGHT = 220;
const EDGE = { left: 52, right: 12, top: 10, bottom: 36 };

export class Lines {
  constructor(body, { title }) {
    this.title = title;
    this.legend = h("ul", { class: "legend" });
    this.picture = svg("svg", { role: "img", height: HEIGHT, class: "plot" });
    this.words = h("p", { class: "about" }, "\u00a0");
    this.rows = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": title });
    this.numbers = h("details", { class: "numbers" }, h("summary", {}, "The numbers"), this.rows);
    this.numbers.addEventListener("toggle", () => this.#table());
    body.append(this.legend, this.picture, this.words, this.numbers);
    this.picture.addEventListener("pointermove", (event) => this.#read(event));
    this.picture.addEventListener("pointerleave", () => this.#read(null));
    this.observer = new ResizeObserver(() => this.#draw());
    this.observer.observe(body);
  }

  close() {
    this.observer.disconnect();
  }

  update(content) {
    this.content = content;
    this.legend.replaceChildren(...content.curves.map((curve, place) => h("li", {}, h("i", { class: `line c${place % 7}` }), curve.name)),
      ...(content.reference ? [h("li", {}, h("i", { class: "line reference" }), content.reference[0])] : []));
    this.legend.hidden = content.curves.length + (content.reference ? 1 : 0) < 2;
    this.#draw();
    this.#table();
  }

  #draw() {
    const width = this.picture.parentElement?.clientWidth ?? 0;
    if (!this.content || width < 50) return;
    const { curves, reference, x, y } = this.content;
    this.picture.setAttribute("width", width);
    this.picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    if (!curves.length) {
      this.picture.setAttribute("aria-label", `${this.title}: nothing yet`);
      this.picture.replaceChildren(svg("text", { x: width / 2, y: HEIGHT / 2, "text-anchor": "middle", class: "quiet" }, "Nothing yet"));
      return;
    }
    const xs = extent(curves.flatMap((curve) => curve.x));
    const ys = extent([...curves.flatMap((curve) => curve.y), ...(reference ? [reference[1]] : [])].filter((value) => value !== null), true);
    const at = this.at = {
      x: (value) => EDGE.left + ((value - xs[0]) / (xs[1] - xs[0])) * (width - EDGE.left - EDGE.right),
      y: (value) => HEIGHT - EDGE.bottom - ((value - ys[0]) / (ys[1] - ys[0])) * (HEIGHT - EDGE.top - EDGE.bottom),
      of: (pixel) => xs[0] + ((pixel - EDGE.left) / (width - EDGE.left - EDGE.right)) * (xs[1] - xs[0]),
    };
    const grid = ticks(ys, 4).map((value) => svg("g", {},
      svg("line", { x1: EDGE.left, x2: width - EDGE.right, y1: at.y(value), y2: at.y(value), class: "grid" }),
      svg("text", { x: EDGE.left - 6, y: at.y(value) + 4, "text-anchor": "end" }, number(value))));
    const below = ticks(xs, Math.max(2, Math.floor(width / 130))).map((value) => svg("text", {
      x: at.x(value), y: HEIGHT - EDGE.bottom + 16, "text-anchor": "middle",
    }, x === "clock" ? clock(value, false).slice(0, 5) : number(value)));
    const level = reference ? [svg("line", { x1: EDGE.left, x2: width - EDGE.right, y1: at.y(reference[1]), y2: at.y(reference[1]), class: "reference" })] : [];
    const drawn = curves.map((curve, place) => svg("path", { d: path(curve, at), class: `curve c${place % 7}` }));
    this.mark = svg("line", { y1: EDGE.top, y2: HEIGHT - EDGE.bottom, class: "mark", visibility: "hidden" });
    const names = [svg("text", { x: width - EDGE.right, y: HEIGHT - 4, "text-anchor": "end", class: "axis" }, x === "clock" ? "time" : x),
      svg("text", { x: 4, y: HEIGHT - 4, class: "axis" }, `↑ ${y}`)];
    this.picture.setAttribute("aria-label", `${this.title}: ${curves.map((curve) => `${curve.name} ${number(last(curve.y))} at last`).join(", ")}`);
    this.picture.replaceChildren(...grid, ...below, ...level, ...drawn, this.mark, ...names);
  }

  #read(event) {
    if (!this.at || !this.content?.curves.length) return;
    this.mark?.setAttribute("visibility", event ? "visible" : "hidden");
    if (!event) { this.words.textContent = "\u00a0"; return; }
    const value = this.at.of(event.clientX - this.picture.getBoundingClientRect().left);
    const near = this.content.curves.map((curve) => [curve, nearest(curve.x, value)]);
    const [first, place] = near[0];
    this.mark.setAttribute("x1", this.at.x(first.x[place]));
    this.mark.setAttribute("x2", this.at.x(first.x[place]));
    const where = this.content.x === "clock" ? clock(first.x[place]) : `${number(first.x[place])} ${this.content.x}`;
    this.words.textContent = `${where}: ${near.map(([curve, one]) => `${curve.name} ${number(curve.y[one])}`).join(", ")}`;
  }

  #table() {
    if (!this.numbers.open || !this.content) return;
    const { curves, x } = this.content;
    const made = curves.map((curve) => {
      const step = Math.max(1, Math.floor(curve.x.length / 40));
      const rows = curve.x.flatMap((value, place) => (place % step ? [] : [h("tr", {},
        h("td", {}, x === "clock" ? clock(value) : number(value)), h("td", { class: "right" }, number(curve.y[place])))]));
      return h("table", {}, h("caption", {}, curve.name), h("tbody", {}, ...rows));
    });
    this.rows.replaceChildren(...made);
  }
}

function path(curve, at) {
  let isOn = false;
  return curve.x.map((value, place) => {
    const height = curve.y[place];
    if (height === null) { isOn = false; return ""; }
    const piece = `${isOn ? "L" : "M"}${at.x(value).toFixed(1)} ${at.y(height).toFixed(1)}`;
    isOn = true;
    return piece;
  }).join("");
}

function extent(values, fromZero = false) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
  // Small and positive: a curve that looks steep because its axis begins elsewhere misleads.
  if (fromZero && low > 0 && low < 0.7 * high) low = 0;
  if (low === high) return [low - 0.5, high + 0.5];
  return fromZero ? [low, high + 0.05 * (high - low)] : [low, high];
}

function ticks([low, high], count) {
  const rough = (high - low) / count;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((one) => one >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(Math.abs(value) < step * 1e-9 ? 0 : value);
  return found;
}

function nearest(values, wanted) {
  let low = 0;
  let high = values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle; else high = middle;
  }
  return Math.abs(values[low] - wanted) <= Math.abs(values[high] - wanted) ? low : high;
}

function last(values) {
  return values[values.length - 1];
}
