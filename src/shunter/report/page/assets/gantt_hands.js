// What mouse, touch and keyboard do to a Gantt chart. The third of the chart's scripts.
"use strict";
(() => {
  const { clamp } = window.GanttParts;

  // Methods of a chart (`gantt.js`).
  const hands = {
    barAt(x, y) {
      const { plot, view, bars } = this;
      if (!plot || x < plot.left || y > plot.height) return null;
      const time = view.from + ((x - plot.left) / plot.width) * (view.to - view.from), row = view.top + (y / plot.height) * (view.bottom - view.top);
      // Two pixels beside it will do: some bars are thinner than that.
      const near = ((view.to - view.from) / plot.width) * 2, beside = ((view.bottom - view.top) / plot.height) * 1;
      let found = null, best = Infinity;
      bars.each(time - near, time + near, (at) => {
        if (bars.low[at] > row + beside || bars.high[at] < row - beside) return;
        const off = Math.max(0, bars.start[at] - time, time - bars.end[at]) / near + Math.max(0, bars.low[at] - row, row - bars.high[at]) / beside;
        if (off < best) { best = off; found = at; }
      });
      return found;
    },
    listen() {
      const { canvas } = this, pointers = new Map();
      let moved = 0;
      const place = (event) => {
        const box = canvas.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
      };
      canvas.addEventListener("pointerdown", (event) => {
        pointers.set(event.pointerId, place(event));
        canvas.setPointerCapture(event.pointerId);
        canvas.classList.add("panning");
        moved = 0;
      });
      canvas.addEventListener("pointermove", (event) => {
        const at = place(event), before = pointers.get(event.pointerId);
        if (!before) { this.point(at); return; }
        this.tip.hidden = true;
        const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, other]) => other);
        pointers.set(event.pointerId, at);
        moved += Math.abs(at.x - before.x) + Math.abs(at.y - before.y);
        if (others.length) {
          const apart = (one) => Math.max(12, Math.hypot(one.x - others[0].x, one.y - others[0].y));
          this.zoom(apart(before) / apart(at), clamp(((at.x + others[0].x) / 2 - this.plot.left) / this.plot.width, 0, 1));
        } else this.pan((before.x - at.x) / this.plot.width, event.pointerType === "touch" ? 0 : (before.y - at.y) / this.plot.height);
      });
      const release = (event) => {
        const at = pointers.get(event.pointerId);
        pointers.delete(event.pointerId);
        canvas.classList.toggle("panning", pointers.size > 0);
        if (!at || moved > 5 || event.type !== "pointerup") return;
        const bar = this.barAt(at.x, at.y);
        this.select(bar === null ? null : this.bars.job[bar]);
      };
      canvas.addEventListener("pointerup", release);
      canvas.addEventListener("pointercancel", release);
      canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
      canvas.addEventListener("dblclick", (event) => this.zoom(0.4, clamp((place(event).x - this.plot.left) / this.plot.width, 0, 1)));
      canvas.addEventListener("wheel", (event) => {
        // Without a key the wheel scrolls the page, as everywhere.
        if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
        event.preventDefault();
        const at = place(event), factor = Math.exp(clamp(event.deltaY || event.deltaX, -120, 120) * 0.003);
        if (event.shiftKey) this.zoom(1, 0.5, factor, clamp(at.y / this.plot.height, 0, 1));
        else this.zoom(factor, clamp((at.x - this.plot.left) / this.plot.width, 0, 1));
      }, { passive: false });
      canvas.addEventListener("keydown", (event) => this.press(event));
      this.overview.addEventListener("pointerdown", (event) => { this.overview.setPointerCapture(event.pointerId); this.jump(event); });
      this.overview.addEventListener("pointermove", (event) => { if (event.buttons) this.jump(event); });
      let later = 0;
      this.search.addEventListener("input", () => { clearTimeout(later); later = setTimeout(() => this.find(this.search.value), 150); });
      this.search.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); clearTimeout(later); if (!this.matches) this.find(this.search.value); this.next(event.shiftKey ? -1 : 1); } });
      this.coloring.addEventListener("change", () => { this.color(); this.colorNow(); this.draw(); });
    },
    jump(event) {
      const box = this.overview.getBoundingClientRect(), part = (event.clientX - box.left - this.plot.left) / this.plot.width;
      const time = this.whole[0] + clamp(part, 0, 1) * (this.whole[1] - this.whole[0]), half = (this.view.to - this.view.from) / 2;
      this.show(time - half, time + half);
    },
    point(at) {
      const bar = this.barAt(at.x, at.y);
      this.canvas.style.cursor = bar === null ? "" : "pointer";
      this.tip.hidden = bar === null;
      if (bar === null) return;
      const job = this.bars.job[bar], fields = (this.options.fields || []).slice(0, 4).map((field) => `${field.title}: ${this.text(job, field)}`).filter((text) => !text.endsWith("–"));
      this.tip.textContent = [`Job ${this.idOf(job)}`, ...fields].join("\n");
      this.tip.style.left = `${clamp(at.x + 14, 0, Math.max(0, this.canvas.clientWidth - this.tip.offsetWidth))}px`;
      this.tip.style.top = `${clamp(at.y + 14, 0, Math.max(0, this.height - this.tip.offsetHeight))}px`;
    },
    press(event) {
      const acts = {
        ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15), ArrowUp: () => this.pan(0, -0.15), ArrowDown: () => this.pan(0, 0.15),
        PageUp: () => this.pan(-0.9), PageDown: () => this.pan(0.9), "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6),
        "0": () => this.fit(), Home: () => this.fit(), n: () => this.next(1), p: () => this.next(-1),
        Escape: () => { this.search.value = ""; this.find(""); this.select(null); },
      };
      const act = acts[event.key] || acts[event.key.toLowerCase()];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    },
  };
  Object.assign(window.GanttParts, { hands });
})();
