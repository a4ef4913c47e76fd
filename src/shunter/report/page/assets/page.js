// The page's own script: colors, folded rows, charts drawn when they come near, their numbers as tables, Gantts.
"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const make = (name, text, className) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const dataOf = (id) => JSON.parse(document.getElementById(id).textContent);

  // ---- Colors -------------------------------------------------------------------------------------------------

  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const themeListeners = [];
  function kept(choice) {
    // Files opened from a disk may have no storage; then the choice lasts as long as the page.
    try {
      if (choice === undefined) return localStorage.getItem("shunter-theme") || "auto";
      localStorage.setItem("shunter-theme", choice);
    } catch { /* As said. */ }
    return "auto";
  }
  function choose(choice) {
    if (choice === "auto") delete root.dataset.theme;
    else root.dataset.theme = choice;
    for (const button of all("[data-theme-choice]"))
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === choice));
    for (const listener of themeListeners) listener();
  }
  all(".switch").forEach((one) => { one.hidden = false; });
  all("[data-theme-choice]").forEach((button) => button.addEventListener("click", () => {
    kept(button.dataset.themeChoice);
    choose(button.dataset.themeChoice);
  }));
  choose(kept());
  isDark.addEventListener("change", () => themeListeners.forEach((listener) => listener()));

  const themed = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();

  // Charts name colors as "@c0" or "@accent"; "@c0/0.3" is the same, so much of it.
  function color(word) {
    const [name, part] = word.slice(1).split("/");
    if (name === "sequential") return [[0, themed("low")], [1, themed("high")]];
    const value = themed(name);
    if (!part) return value;
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(value.slice(at, at + 2), 16));
    return `rgba(${red}, ${green}, ${blue}, ${part})`;
  }
  function resolved(value, key = "") {
    if (Array.isArray(value)) return /color/i.test(key) ? value.map((one) => resolved(one, key)) : value;
    if (value !== null && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([name, one]) =>
        [name, Array.isArray(one) && one.some((each) => each !== null && typeof each === "object")
          ? one.map((each) => resolved(each, name)) : resolved(one, name)]));
    return typeof value === "string" && value[0] === "@" && /color|fill/i.test(key) ? color(value) : value;
  }

  // ---- Charts -------------------------------------------------------------------------------------------------

  function axisDefaults(axis) {
    return {
      gridcolor: themed("grid"), zerolinecolor: themed("line"), linecolor: themed("line"), automargin: true,
      ...axis, title: { standoff: 8, ...(axis.title || {}), font: { size: 13, color: themed("quiet") } },
    };
  }
  function layoutOf(figure, width) {
    const layout = resolved(figure.layout || {});
    for (const name of ["xaxis", "yaxis", ...Object.keys(layout).filter((key) => /^[xy]axis\d+$/.test(key))])
      layout[name] = axisDefaults(layout[name] || {});
    const legend = { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", ...(layout.legend || {}) };
    return {
      autosize: true, height: 360, hovermode: "closest", dragmode: width < 640 ? false : "zoom", ...layout, legend,
      margin: { l: 12, r: 12, t: 30, b: 12, ...(layout.margin || {}) },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: themed("ink") },
      colorway: ["c0", "c1", "c2", "c3", "c4", "c5", "c6"].map(themed),
      hoverlabel: { bgcolor: themed("card"), bordercolor: themed("line"), font: { color: themed("ink") }, namelength: 40 },
    };
  }
  const drawn = new Map();
  function draw(holder) {
    const figure = drawn.get(holder) || dataOf(holder.dataset.chart);
    drawn.set(holder, figure);
    const place = holder.querySelector(".plot");
    const config = {
      responsive: true, displaylogo: false, scrollZoom: false, doubleClickDelay: 400,
      modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"], displayModeBar: place.clientWidth < 640 ? false : "hover",
    };
    const data = figure.data.map((one) => resolved(one));
    return Plotly.react(place, data, layoutOf(figure, place.clientWidth), config);
  }
  const charts = all("figure.chart");
  if (charts.length) {
    const near = new IntersectionObserver((entries) => entries.filter((one) => one.isIntersecting).forEach((one) => {
      near.unobserve(one.target);
      draw(one.target);
    }), { rootMargin: "600px" });
    charts.forEach((one) => near.observe(one));
    themeListeners.push(() => [...drawn.keys()].forEach(draw));
    addEventListener("beforeprint", () => charts.forEach(draw));
  }
  // Paper is light, whatever the screen is.
  addEventListener("beforeprint", () => choose("light"));
  addEventListener("afterprint", () => choose(kept()));

  // ---- The numbers of a chart -----------------------------------------------------------------------------------

  const MOST_ROWS = 500;
  // Texts of charts are escaped for Plotly, which understands a few tags.
  const plain = (value) => typeof value !== "string" ? value
    : value.replace(/<br>/g, " ").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
  const numberText = (value) => value === null || value === undefined ? "–"
    : typeof value === "number" ? Number(value.toPrecision(5)).toLocaleString("en") : String(plain(value));
  const titleOf = (axis, fallback) => plain((axis && axis.title && axis.title.text) || fallback);
  function rowsOf(figure) {
    const layout = figure.layout || {}, rows = [];
    for (const trace of figure.data) {
      const name = trace.name || "";
      if (trace.z) {
        trace.z.forEach((line, row) => line.forEach((z, column) => {
          if (z !== null) rows.push([(trace.x || [])[column] ?? column, (trace.y || [])[row] ?? row, z]);
        }));
      } else (trace.x || []).forEach((x, at) => rows.push([name, x, (trace.y || [])[at]]));
    }
    const isGrid = figure.data.some((trace) => trace.z);
    const titles = [titleOf(layout.xaxis, "x"), titleOf(layout.yaxis, "y")];
    return { head: isGrid ? [...titles, "value"] : ["", ...titles], rows };
  }
  function numbers(holder) {
    const figure = drawn.get(holder) || dataOf(holder.dataset.chart);
    const { head, rows } = rowsOf(figure);
    const region = make("div", undefined, "table"), table = make("table"), body = make("tbody"), line = make("tr");
    region.tabIndex = 0;
    head.forEach((text) => { const cell = make("th", text); cell.scope = "col"; line.append(cell); });
    const top = make("thead");
    top.append(line);
    const step = Math.max(1, Math.ceil(rows.length / MOST_ROWS));
    rows.filter((_, at) => at % step === 0).forEach((row) => {
      const each = make("tr");
      row.forEach((value) => each.append(make("td", numberText(value), typeof value === "number" ? "right" : "")));
      body.append(each);
    });
    table.append(make("caption", step > 1 ? `One of ${step} points of the figure.` : "Every point of the figure."), top, body);
    region.append(table);
    return region;
  }
  all("details.numbers").forEach((one) => one.addEventListener("toggle", () => {
    if (one.open && !one.querySelector("table")) one.append(numbers(one.closest("figure")));
  }));

  // ---- Long tables, commands, navigation ------------------------------------------------------------------------

  all(".unfold").forEach((button) => {
    const table = button.closest(".table"), text = button.textContent;
    const fold = (folded) => {
      table.classList.toggle("folded", folded);
      button.textContent = folded ? text : "Show fewer";
      button.setAttribute("aria-expanded", String(!folded));
    };
    button.hidden = false;
    fold(true);
    button.addEventListener("click", () => fold(!table.classList.contains("folded")));
  });
  if (navigator.clipboard) all(".copy").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.parentElement.querySelector("pre").textContent.trimEnd() + "\n");
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  });
  const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
  const seen = new Set();
  const watcher = new IntersectionObserver((entries) => {
    entries.forEach((one) => (one.isIntersecting ? seen.add(one.target.id) : seen.delete(one.target.id)));
    const current = [...links.keys()].find((key) => seen.has(key));
    links.forEach((link, key) => (key === current ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
  }, { rootMargin: "-10% 0px -60% 0px" });
  all("main > section").forEach((section) => watcher.observe(section));

  // ---- Gantts ---------------------------------------------------------------------------------------------------

  const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f64: Float64Array };
  async function column(packed) {
    const bytes = Uint8Array.from(atob(packed.data), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const values = new ARRAYS[packed.type](await new Response(stream).arrayBuffer());
    // What is coded as steps from one to the next is added up.
    if (packed.steps) for (let at = 1; at < values.length; at++) values[at] += values[at - 1];
    return values;
  }
  const NOT_KNOWN = 4294967295;
  async function columns(packed, scales) {
    const entries = await Promise.all(Object.entries(packed).map(async ([name, one]) => {
      if (Array.isArray(one)) return [name, one];
      const values = await column(one), scale = scales[one.scale];
      return [name, scale ? Float64Array.from(values, (value) => (value === NOT_KNOWN ? NaN : value * scale)) : values];
    }));
    return Object.fromEntries(entries);
  }
  async function showGantt(holder) {
    const packed = dataOf(holder.dataset.gantt), place = holder.querySelector(".drawing");
    const scales = { time: packed.unit_s, milli: packed.row_unit };
    const [bars, jobs] = await Promise.all([columns(packed.bars, scales), columns(packed.jobs, scales)]);
    // What is packed as lengths becomes ends.
    bars.end = bars.start.map((start, at) => start + bars.length[at]);
    bars.high = bars.low.map((low, at) => low + bars.height[at]);
    place.textContent = "";
    holder.gantt = new Gantt(place, { ...packed, bars, jobs }, packed.options);
    // At once, and not at the next frame: it may be for paper.
    themeListeners.push(() => { holder.gantt.theme = null; holder.gantt.paint(); });
  }
  all("figure.gantt").forEach((holder) => {
    const near = new IntersectionObserver((entries) => {
      if (!entries.some((one) => one.isIntersecting)) return;
      near.disconnect();
      showGantt(holder).catch((error) => { holder.querySelector(".wait").textContent = `The chart cannot be shown: ${error.message}`; });
    }, { rootMargin: "400px" });
    near.observe(holder);
  });
})();
