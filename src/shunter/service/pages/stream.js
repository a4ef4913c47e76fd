// The stream of events. The browser connects again by itself; where it gives up, this does.
import { isIn } from "./session.js";

const SILENCE_MS = 30000;
const AGAIN_MS = 2000;
const HIDDEN_MS = 60000;

/**
 * Follows the service.
 * @param {object} told - functions: hello(sources), panel(change), clock(now_s), state(word), locked()
 */
export class Stream {
  constructor(told) {
    this.told = told;
    this.events = null;
    this.lastMs = 0;
    this.hiddenTimer = 0;
    document.addEventListener("visibilitychange", () => this.#seen());
    setInterval(() => this.#watch(), 5000);
  }

  open() {
    this.close();
    this.told.state("connecting");
    this.lastMs = Date.now();
    this.events = new EventSource("/live/events");
    this.events.addEventListener("hello", (event) => this.#take(event, (content) => this.told.hello(content)));
    this.events.addEventListener("panel", (event) => this.#take(event, (content) => this.told.panel(content)));
    this.events.addEventListener("clock", (event) => this.#take(event, (content) => this.told.clock(content.now_s)));
    this.events.addEventListener("error", () => this.#failed());
  }

  close() {
    this.events?.close();
    this.events = null;
  }

  #take(event, act) {
    this.lastMs = Date.now();
    this.told.state("connected");
    act(JSON.parse(event.data));
  }

  async #failed() {
    this.told.state("lost");
    // While it is connecting, the browser tries again; closed means that it was refused.
    if (this.events?.readyState !== EventSource.CLOSED) return;
    this.close();
    if ((await isIn()) === false) this.told.locked();
    else setTimeout(() => { if (!this.events && !document.hidden) this.open(); }, AGAIN_MS);
  }

  #watch() {
    // A connection may die without a word: the service says something every ten seconds.
    if (this.events && Date.now() - this.lastMs > SILENCE_MS) this.open();
  }

  #seen() {
    // A browser has few connections to one service: what nobody sees gives its own back.
    clearTimeout(this.hiddenTimer);
    if (document.hidden) {
      this.hiddenTimer = setTimeout(() => { if (this.events) { this.close(); this.told.state("asleep"); } }, HIDDEN_MS);
    } else if (!this.events && this.told.isWanted()) {
      this.open();
    }
  }
}
