// What a Gantt chart looks like: bars as exact shares of pixels, so that a hundred thousand are drawn at each frame, and
// names, lanes, times and the strip below on top. The second of the chart's scripts.
"use strict";
(() => {
  const { clamp, moment, rgb, mixed } = window.GanttParts;
  const FINE = 4; // Each pixel is drawn in so many parts, so that many short jobs make a shade and not a lie.
  const DIM = 32, LIGHT = 64; // Added to a color's number: not what was searched for; predicted.
  const AXIS = 26, TEXT_ROOM = 46;
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
    86400, 172800, 604800, 1209600, 2592000, 7776000, 15552000, 31104000, 62208000];

  // Methods of a chart (`gantt.js`), which has the data and the view.
  const painting = {
    palette() {
      const style = getComputedStyle(this.element), of = (name) => rgb(style.getPropertyValue("--" + name).trim() || "#888888");
      const back = of("bars-page"), colors = [back], low = of("low"), high = of("high");
      for (let at = 0; at < 31; at++) {
        const plain = at < 7 ? of("c" + at) : of("others");
        colors.push(this.scale ? mixed(mixed(low, high, 0.18), high, clamp(at / Math.max(1, this.scale - 1), 0, 1)) : plain);
      }
      const all = new Uint32Array(128), parts = [];
      for (let at = 0; at < 128; at++) {
        let one = colors[at % 32];
        if (at % 32 && at & LIGHT) one = mixed(one, back, 0.55);
        if (at % 32 && at & DIM) one = mixed(one, back, 0.82);
        parts.push(one);
        all[at] = (255 << 24) | (one[2] << 16) | (one[1] << 8) | one[0];
      }
      this.theme = { all, parts, ink: style.getPropertyValue("--ink"), quiet: style.getPropertyValue("--quiet"), line: style.getPropertyValue("--line"), accent: style.getPropertyValue("--accent"), card: style.getPropertyValue("--card"), bad: style.getPropertyValue("--bad") };
    },
    paint() {
      const ratio = window.devicePixelRatio || 1, wide = this.canvas.clientWidth;
      if (!wide || !this.bars) return;
      const width = Math.round(wide * ratio), height = Math.round(this.height * ratio);
      if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
      if (!this.theme) {
        this.palette();
        this.drawLegend();
      }
      const left = this.bars.lanes.length > 1 ? Math.min(92, wide * 0.2) : TEXT_ROOM;
      this.plot = { left, width: wide - left, height: this.height - AXIS };
      const context = this.canvas.getContext("2d", { alpha: false });
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.fillStyle = this.theme.card;
      context.fillRect(0, 0, width, height);
      this.paintBars(context, ratio);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.paintFrame(context);
      this.paintOverview();
    },
    paintBars(context, ratio) {
      const { bars, view, plot, shades } = this, w = Math.round(plot.width * ratio), h = Math.round(plot.height * ratio), wide = w * FINE;
      if (!this.cells || this.cells.length !== wide * h) {
        this.cells = new Uint8Array(wide * h);
        this.image = context.createImageData(w, h);
      }
      const cells = this.cells.fill(0), across = wide / (view.to - view.from), down = h / (view.bottom - view.top);
      bars.each(view.from, view.to, (at) => {
        const y0 = clamp(Math.round((bars.low[at] - view.top) * down), 0, h), color = shades[at];
        let y1 = clamp(Math.round((bars.high[at] - view.top) * down), 0, h);
        if (bars.high[at] <= view.top || bars.low[at] >= view.bottom) return;
        const x0 = clamp(Math.round((bars.start[at] - view.from) * across), 0, wide);
        let x1 = clamp(Math.round((bars.end[at] - view.from) * across), 0, wide);
        // What is too small to be seen is seen where nobody else is.
        const tiny = x1 <= x0 || y1 <= y0;
        if (x1 - x0 > 8 * FINE && y1 - y0 > 4) { x1 -= FINE; y1 -= 1; }
        if (tiny) {
          const row = Math.min(y0, h - 1) * wide, place = row + Math.min(x0, wide - 1);
          for (let x = place; x < place + Math.max(1, x1 - x0) && x < row + wide; x++) if (!cells[x]) cells[x] = color;
          return;
        }
        for (let row = y0 * wide, last = y1 * wide; row < last; row += wide) {
          if (x1 - x0 > 24) cells.fill(color, row + x0, row + x1);
          else for (let x = row + x0; x < row + x1; x++) cells[x] = color;
        }
      });
      this.resolve(w * h);
      context.putImageData(this.image, Math.round(plot.left * ratio), 0);
    },
    // Makes pixels of parts of pixels: the mean of their colors.
    resolve(count) {
      const quads = new Uint32Array(this.cells.buffer), out = new Uint32Array(this.image.data.buffer), { all, parts } = this.theme;
      for (let at = 0; at < count; at++) {
        const four = quads[at], one = four & 255;
        if (four >>> 0 === one * 0x01010101) { out[at] = all[one]; continue; }
        const a = parts[one], b = parts[(four >>> 8) & 255], c = parts[(four >>> 16) & 255], d = parts[four >>> 24];
        out[at] = (255 << 24) | (((a[2] + b[2] + c[2] + d[2]) >> 2) << 16) | (((a[1] + b[1] + c[1] + d[1]) >> 2) << 8) | ((a[0] + b[0] + c[0] + d[0]) >> 2);
      }
    },
    xOf(time) { return this.plot.left + ((time - this.view.from) / (this.view.to - this.view.from)) * this.plot.width; },
    yOf(row) { return ((row - this.view.top) / (this.view.bottom - this.view.top)) * this.plot.height; },
    paintFrame(context) {
      const { plot, theme, bars, view } = this;
      context.font = `12px ${getComputedStyle(this.root).fontFamily}`;
      context.save();
      context.beginPath();
      context.rect(plot.left, 0, plot.width, plot.height);
      context.clip();
      this.paintLabels(context);
      this.paintPredicted(context);
      if (this.selected !== null) this.paintSelected(context);
      if (typeof this.data.now === "number") this.paintLine(context, this.xOf(this.data.now), theme.bad, "now");
      context.restore();
      this.paintLanes(context);
      this.paintTimes(context, plot, theme, bars, view);
    },
    // Names in the bars that have room for them.
    paintLabels(context) {
      const { bars, view } = this;
      let told = 0;
      context.textBaseline = "middle";
      bars.each(view.from, view.to, (at) => {
        const x0 = Math.max(this.xOf(bars.start[at]), this.plot.left), x1 = this.xOf(bars.end[at]), y0 = this.yOf(bars.low[at]), y1 = this.yOf(bars.high[at]);
        if (this.shades[at] & DIM || x1 - x0 < TEXT_ROOM || y1 - y0 < 13 || told > 400 || y1 < 0 || y0 > this.plot.height) return;
        told++;
        const [r, g, b] = this.theme.parts[this.shades[at]];
        context.fillStyle = r * 0.3 + g * 0.59 + b * 0.11 > 140 ? "#101418" : "#ffffff";
        context.save();
        context.beginPath();
        context.rect(x0, y0, x1 - x0 - 2, y1 - y0);
        context.clip();
        context.fillText(this.idOf(bars.job[at]), x0 + 4, (Math.max(y0, 0) + Math.min(y1, this.plot.height)) / 2);
        context.restore();
      });
    },
    // The interval of a predicted start is a whisker before and behind it.
    paintPredicted(context) {
      const { bars, view } = this;
      if (!bars.earliest || !bars.latest) return;
      context.strokeStyle = this.theme.ink;
      context.lineWidth = 1.5;
      for (let at = 0; at < bars.count; at++) {
        if (!bars.predicted[at] || !(bars.latest[at] >= view.from && bars.earliest[at] <= view.to)) continue;
        const y = (this.yOf(bars.low[at]) + this.yOf(bars.high[at])) / 2, a = this.xOf(bars.earliest[at]), b = this.xOf(bars.latest[at]);
        context.beginPath();
        context.moveTo(a, y); context.lineTo(b, y);
        context.moveTo(a, y - 4); context.lineTo(a, y + 4);
        context.moveTo(b, y - 4); context.lineTo(b, y + 4);
        context.stroke();
      }
    },
    paintSelected(context) {
      const { bars, selected, theme } = this, submit = this.value(selected, "submit");
      const own = bars.ofJob(selected);
      context.lineWidth = 2.5;
      context.strokeStyle = theme.ink;
      for (const at of own) {
        const x = this.xOf(bars.start[at]), y = this.yOf(bars.low[at]);
        context.strokeRect(x - 1, y, Math.max(3, this.xOf(bars.end[at]) - x + 1), Math.max(3, this.yOf(bars.high[at]) - y));
      }
      if (!own.length || typeof submit !== "number" || !(submit < bars.start[own[0]])) return;
      // From its submit to its start: the wait.
      const y = (this.yOf(bars.low[own[0]]) + this.yOf(bars.high[own[0]])) / 2, x = this.xOf(submit);
      context.setLineDash([5, 4]);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(this.xOf(bars.start[own[0]]), y);
      context.stroke();
      context.setLineDash([]);
      context.beginPath();
      context.arc(x, y, 3.5, 0, 7);
      context.fillStyle = theme.ink;
      context.fill();
    },
    paintLine(context, x, color, text) {
      context.strokeStyle = context.fillStyle = color;
      context.lineWidth = 2;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, this.plot.height);
      context.stroke();
      context.textBaseline = "top";
      context.fillText(text, x + 4, 3);
    },
    paintLanes(context) {
      const { bars, plot, theme, view } = this;
      context.textBaseline = "middle";
      context.textAlign = "right";
      context.fillStyle = theme.quiet;
      if (bars.lanes.length === 1) {
        for (const part of [0, 0.25, 0.5, 0.75, 1]) {
          const row = view.top + (view.bottom - view.top) * part;
          context.fillText(Math.round(row).toLocaleString("en"), plot.left - 5, clamp(plot.height * part, 7, plot.height - 6));
        }
      } else {
        let free = -Infinity;
        for (let lane = bars.laneAt(view.top); lane < bars.lanes.length && bars.base[lane] < view.bottom; lane++) {
          const y0 = this.yOf(bars.base[lane]), y1 = this.yOf(bars.base[lane + 1]), y = clamp((y0 + y1) / 2, 7, plot.height - 7);
          if (y1 - y0 > 5) {
            context.fillStyle = theme.line;
            context.fillRect(plot.left, Math.round(y1) - 1, plot.width, 1);
            context.fillStyle = theme.quiet;
          }
          if (y - free < 15) continue;
          free = y;
          const name = String(bars.lanes[lane].name), most = Math.floor((plot.left - 8) / 6.6);
          context.fillText(name.length > most ? "…" + name.slice(-most + 1) : name, plot.left - 5, y);
        }
      }
      context.textAlign = "left";
    },
    paintTimes(context, plot, theme, bars, view) {
      const wanted = ((view.to - view.from) * 105) / plot.width, step = STEPS.find((one) => one >= wanted) || Math.ceil(wanted / 86400) * 86400;
      const origin = this.data.origin || 0, first = Math.ceil((view.from + origin) / step) * step - origin;
      context.textBaseline = "top";
      for (let time = first; time <= view.to; time += step) {
        const x = this.xOf(time), text = moment(time, this.data.origin, step), half = context.measureText(text).width / 2;
        context.fillStyle = theme.line;
        context.fillRect(Math.round(x), plot.height, 1, 5);
        context.fillStyle = theme.quiet;
        if (x + half < plot.left + plot.width) context.fillText(text, Math.max(x - half, 0), plot.height + 8);
      }
    },

    // ---- The strip below: how much is in use over all the time, and where the view is

    drawOverview() {
      const { bars, whole } = this, bins = 600, width = (whole[1] - whole[0]) / bins;
      const used = new Float64Array(bins);
      for (let at = 0; at < bars.count; at++) {
        const height = bars.high[at] - bars.low[at], a = (bars.start[at] - whole[0]) / width, b = (bars.end[at] - whole[0]) / width;
        for (let bin = Math.max(0, Math.floor(a)); bin < Math.min(bins, Math.ceil(b)); bin++)
          used[bin] += height * (Math.min(b, bin + 1) - Math.max(a, bin));
      }
      this.used = used.map((one) => one / bars.rows);
    },
    paintOverview() {
      const ratio = window.devicePixelRatio || 1, wide = this.overview.clientWidth, tall = 44, { theme, used, whole, view, plot } = this;
      if (!used) return;
      const width = Math.round(wide * ratio), height = Math.round(tall * ratio);
      if (this.overview.width !== width || this.overview.height !== height) Object.assign(this.overview, { width, height });
      const context = this.overview.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, wide, tall);
      context.fillStyle = `rgb(${theme.parts[0].join(",")})`;
      context.fillRect(plot.left, 0, plot.width, tall);
      context.fillStyle = theme.quiet;
      const each = plot.width / used.length;
      used.forEach((part, at) => context.fillRect(plot.left + at * each, tall - part * (tall - 4), each + 0.5, part * (tall - 4)));
      const at = (time) => plot.left + clamp((time - whole[0]) / (whole[1] - whole[0]), 0, 1) * plot.width;
      const a = at(view.from), b = Math.max(at(view.to), a + 3);
      context.globalAlpha = 0.2;
      context.fillStyle = theme.accent;
      context.fillRect(a, 0, b - a, tall);
      context.globalAlpha = 1;
      context.strokeStyle = theme.accent;
      context.lineWidth = 2;
      context.strokeRect(a + 1, 1, b - a - 2, tall - 2);
    },
  };
  Object.assign(window.GanttParts, { painting, DIM, LIGHT });
})();
