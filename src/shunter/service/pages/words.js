// Values in words. Times of the clock are seconds since 1970, by the clock of the service.
import { h } from "./dom.js";

const DASH = "–";
let ahead = 0;

/** Sets the clock by that of the service. */
export function setClock(now_s) {
  ahead = now_s - Date.now() / 1000;
}

/** Returns the time of the service. */
export function now() {
  return Date.now() / 1000 + ahead;
}

export function number(value) {
  if (value === null || value === undefined || value === "") return DASH;
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (size && size < 0.001) return value.toPrecision(2);
  const digits = Number.isInteger(value) || size >= 1000 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

export function seconds(value) {
  if (value === null || value === undefined) return DASH;
  const size = Math.abs(value);
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (size >= length) return `${(value / length).toFixed(size >= 10 * length ? 0 : 1)} ${unit}`;
  }
  return `${size >= 10 || size === 0 ? value.toFixed(0) : value.toFixed(1)} s`;
}

export function clock(value, withDay = Math.abs(value - now()) > 20 * 3600) {
  if (value === null || value === undefined) return DASH;
  const when = new Date(value * 1000);
  const time = when.toLocaleTimeString("en-GB");
  return withDay ? `${when.toLocaleDateString("en-CA")} ${time}` : time;
}

export function since(value) {
  if (value === null || value === undefined) return DASH;
  const ago = now() - value;
  return ago < 1.5 ? "now" : `${seconds(ago)} ago`;
}

export function share(value) {
  return value === null || value === undefined ? DASH : `${(100 * value).toFixed(value && value < 0.1 ? 1 : 0)} %`;
}

const FORMATS = {
  text: (value) => (value === null || value === undefined ? "" : String(value)),
  number, seconds, clock, since, share,
};
export const IS_NUMBER = new Set(["number", "seconds", "share"]);

/** Returns a value in words. */
export function inWords(value, format) {
  return (FORMATS[format] || FORMATS.text)(value);
}

/** Returns a value as an element whose words go on with the clock where they have to. */
export function shown(value, format = "text") {
  if (value !== null && typeof value === "object") return shown(value.value, value.format);
  if (format === "report") return value ? h("a", { href: value, target: "_blank", rel: "noopener" }, "open") : h("span");
  const words = inWords(value, format);
  if (format !== "since" && format !== "clock") return h("span", {}, words);
  const element = h("time", { title: value === null ? null : clock(value, true) }, words);
  if (format === "since" && value !== null) element.dataset.since = value;
  return element;
}

setInterval(() => {
  for (const element of document.querySelectorAll("[data-since]")) {
    // What nobody sees need not be right.
    if (element.offsetParent !== null) element.textContent = since(Number(element.dataset.since));
  }
}, 1000);
