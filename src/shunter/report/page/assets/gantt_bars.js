// The bars of a Gantt chart in the order of their starts, and how times are written. The first of the chart's scripts.
"use strict";
window.GanttParts = {};
(() => {
  const BLOCK = 64; // Bars are skipped by blocks of so many.
  const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

  function duration(seconds) {
    if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
    const size = Math.abs(seconds), place = UNITS.findIndex(([, unit]) => size >= unit);
    if (place < 0) return size ? `${Number(seconds.toPrecision(2))} s` : "0 s";
    const [name, unit] = UNITS[place], [nextName, nextUnit] = UNITS[place + 1] || ["", unit];
    // Counted in the smaller unit, so that 59.9 min are 1 h and not 0 h 60 min.
    const count = Math.round(size / nextUnit), each = Math.round(unit / nextUnit), more = nextName ? count % each : 0;
    return (seconds < 0 ? "−" : "") + `${(count - more) / each} ${name}` + (more ? ` ${more} ${nextName}` : "");
  }
  function moment(seconds, origin, step = 1) {
    if (origin === null || origin === undefined) return duration(seconds);
    const date = new Date((origin + seconds) * 1000), text = date.toISOString();
    if (step >= 86400) return text.slice(0, 10);
    return step >= 3600 && text.slice(11, 16) === "00:00" ? text.slice(0, 10) : text.slice(5, 10) + " " + text.slice(11, step >= 60 ? 16 : 19);
  }
  const rgb = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const mixed = (one, other, part) => one.map((value, at) => Math.round(value + (other[at] - value) * part));

  class Bars {
    constructor(data) {
      const lanes = (data.lanes || []).map((lane) => (typeof lane === "string" ? { name: lane, size: 1 } : lane));
      this.lanes = lanes;
      this.base = [0];
      for (const lane of lanes) this.base.push(this.base.at(-1) + lane.size);
      const given = data.bars || {}, count = (given.start || []).length;
      const order = Uint32Array.from({ length: count }, (_, at) => at);
      let sorted = true;
      for (let at = 1; at < count && sorted; at++) sorted = given.start[at] >= given.start[at - 1];
      if (!sorted) order.sort((one, other) => given.start[one] - given.start[other]);
      const taken = (values, fallback) => Float64Array.from(order, (at) => (values ? values[at] : fallback(at)));
      this.count = count;
      this.start = taken(given.start);
      this.end = taken(given.end);
      this.low = taken(given.low, (at) => this.base[given.lane[at]] + (given.offset ? given.offset[at] : 0));
      this.high = taken(given.high, (at) => this.base[given.lane[at]] + (given.offset ? given.offset[at] : 0)
        + (given.height ? given.height[at] : lanes[given.lane[at]].size));
      this.job = Uint32Array.from(order, (at) => (given.job ? given.job[at] : at));
      this.predicted = Uint8Array.from(order, (at) => (given.predicted && given.predicted[at] ? 1 : 0));
      this.earliest = given.earliest && taken(given.earliest);
      this.latest = given.latest && taken(given.latest);
      this.latestEnd = new Float64Array(Math.ceil(count / BLOCK)).fill(-Infinity);
      for (let at = 0; at < count; at++) {
        const block = (at / BLOCK) | 0;
        if (this.end[at] > this.latestEnd[block]) this.latestEnd[block] = this.end[at];
      }
    }
    get rows() { return this.base.at(-1) || 1; }
    span(now) {
      let low = Infinity, high = -Infinity;
      for (let at = 0; at < this.count; at++) {
        low = Math.min(low, this.start[at]);
        high = Math.max(high, this.end[at]);
      }
      if (typeof now === "number") { low = Math.min(low, now); high = Math.max(high, now); }
      if (low > high) return [0, 1];
      return [low, high > low ? high : low + 1];
    }
    // Calls what it is given with each bar that overlaps a time.
    each(from, to, visit) {
      for (let block = 0; block < this.latestEnd.length; block++) {
        const first = block * BLOCK;
        if (this.start[first] >= to) return;
        if (this.latestEnd[block] < from) continue;
        const last = Math.min(first + BLOCK, this.count);
        for (let at = first; at < last; at++) if (this.end[at] >= from && this.start[at] < to) visit(at);
      }
    }
    laneAt(row) {
      let low = 0, high = this.lanes.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (this.base[middle] <= row + 1e-9) low = middle; else high = middle - 1;
      }
      return low;
    }
    ofJob(job) {
      const found = [];
      for (let at = 0; at < this.count; at++) if (this.job[at] === job) found.push(at);
      return found;
    }
  }

  Object.assign(window.GanttParts, { Bars, clamp, duration, moment, rgb, mixed });
})();
