// The page: signing in, a tab for each source, and its panels as they come.
import { h, say } from "./dom.js";
import { setClock } from "./words.js";
import { enterByLink, isIn, signIn } from "./session.js";
import { Stream } from "./stream.js";
import { PanelBox } from "./panel_box.js";

const KINDS = { queue: "Queue", operation: "Operation", training: "Training", runs: "Runs", log: "Log" };
const STATES = {
  connecting: "Connecting", connected: "Live", lost: "Connection lost, trying again", asleep: "Asleep while hidden", locked: "Signed out",
};
const TAB = "shunter-tab";

const byId = (id) => document.getElementById(id);
/** By name: {tab, place, box}. */
const sources = new Map();
let isLocked = false;

const stream = new Stream({
  hello, panel, clock: setClock, state, locked, isWanted: () => !isLocked,
});

function hello(content) {
  setClock(content.now_s);
  byId("sign-in").hidden = true;
  byId("empty").hidden = content.sources.length > 0;
  for (const name of [...sources.keys()]) {
    if (!content.sources.some((one) => one.name === name)) forget(name);
  }
  for (const source of content.sources) if (!sources.has(source.name)) add(source);
  byId("tabs").hidden = sources.size < 1;
  const names = [...sources.keys()];
  let kept = null;
  try { kept = sessionStorage.getItem(TAB); } catch { /* The first, then. */ }
  const open = names.find((name) => sources.get(name).tab.getAttribute("aria-selected") === "true");
  if (names.length) choose(open ?? (names.includes(kept) ? kept : names[0]));
}

function add(source) {
  const number = sources.size;
  const tab = h("button", {
    type: "button", role: "tab", id: `tab-${number}`, "aria-controls": `source-${number}`, "aria-selected": "false", tabindex: "-1",
    onclick: () => choose(source.name), onkeydown: (event) => move(event, source.name),
  }, h("span", { class: "kind" }, KINDS[source.kind] || source.kind), source.name);
  const place = h("div", { class: "source", role: "tabpanel", id: `source-${number}`, "aria-labelledby": `tab-${number}`, hidden: true });
  const waiting = h("p", { class: "quiet waiting" }, "Reading …");
  place.append(waiting);
  byId("tabs").append(tab);
  byId("sources").append(place);
  sources.set(source.name, { tab, place, waiting, box: new PanelBox(place, source.name) });
}

function forget(name) {
  const { tab, place } = sources.get(name);
  tab.remove();
  place.remove();
  sources.delete(name);
}

function panel({ source, key, panel: content }) {
  const found = sources.get(source);
  if (!found) return;
  found.waiting.remove();
  found.box.show(key, content);
  if (key === "trouble") {
    found.tab.classList.toggle("in-trouble", content !== null);
    say(content === null ? `${source} can be read again` : `${source} cannot be read now`);
  }
}

function choose(name) {
  for (const [other, { tab, place, box }] of sources) {
    const is = other === name;
    tab.setAttribute("aria-selected", String(is));
    tab.tabIndex = is ? 0 : -1;
    place.hidden = !is;
    box.setVisible(is);
  }
  document.title = `${name} – Shunter`;
  try { sessionStorage.setItem(TAB, name); } catch { /* Nothing is lost. */ }
}

function move(event, name) {
  const names = [...sources.keys()];
  const place = names.indexOf(name);
  const target = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: names.length - 1 }[event.key];
  if (target === undefined) return;
  event.preventDefault();
  const next = names[(target + names.length) % names.length];
  choose(next);
  sources.get(next).tab.focus();
}

let before = "";
function state(word) {
  if (word === before) return;
  byId("connection").dataset.state = word;
  byId("connection-words").textContent = STATES[word];
  if (word === "lost" || before === "lost") say(STATES[word]);
  before = word;
}

function locked() {
  isLocked = true;
  stream.close();
  state("locked");
  byId("sign-in").hidden = false;
  byId("token").focus();
}

byId("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const trouble = await signIn(byId("token").value);
  byId("sign-in-trouble").textContent = trouble;
  if (trouble) return;
  byId("token").value = "";
  enter();
});

function enter() {
  isLocked = false;
  stream.open();
}

await enterByLink();
if ((await isIn()) === false) locked(); else enter();
// Somebody pastes the link of a service that was started again into a page that is open.
addEventListener("hashchange", async () => { await enterByLink(); enter(); });
