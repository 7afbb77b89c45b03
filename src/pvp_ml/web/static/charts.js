// Small charts as SVG: sparkline, line chart with intervals and a reading at the pointer, heat map, reliability curve.

import { el, svg } from "./dom.js";
import { brief, count, ticks } from "./numbers.js";

export function sparkline(values, { width = 160, height = 40, low = null, high = null, label = "" } = {}) {
  const bottom = low ?? Math.min(...values);
  const top = Math.max(high ?? Math.max(...values), bottom + 1e-9);
  const x = (i) => (values.length > 1 ? (i / (values.length - 1)) * (width - 4) + 2 : width / 2);
  const y = (v) => height - 3 - ((v - bottom) / (top - bottom)) * (height - 6);
  const points = values.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`);
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "spark", role: "img", "aria-label": label, preserveAspectRatio: "none" },
    values.length > 1 ? svg("path", { class: "area", d: `M${points[0]} L${points.join(" ")} L${x(values.length - 1)},${height} L${x(0)},${height} Z` }) : null,
    svg("polyline", { points: points.join(" "), class: "line", "vector-effect": "non-scaling-stroke" }),
    values.length ? svg("circle", { cx: x(values.length - 1), cy: y(values.at(-1)), r: 2.6, class: "tip" }) : null);
}

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [400, 190, 46, 22, 8, 24];
const RARE = 0.005; // a bin with fewer of the decisions is chance, not a line

// series: [{name, steps, values, band: [steps, low, high] | null, dashed}]; a share is drawn from 0 to 100 %.
export class LineChart {
  constructor(title, { isShare = false, about = "", unit = "" } = {}) {
    this.isShare = isShare;
    this.unit = unit;
    this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lines", role: "img", "aria-label": title });
    this.reading = el("output", { class: "reading", "aria-live": "off" });
    this.legend = el("p", { class: "chart-legend" });
    this.node = el("figure", { class: "chart-card" }, el("figcaption", {}, el("strong", {}, title), about ? el("span", { class: "quiet" }, about) : null, this.reading), this.picture, this.legend);
    this.series = [];
    this.marks = [];
    this.cursor = svg("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
    this.picture.addEventListener("pointermove", (event) => this.#point(event));
    this.picture.addEventListener("pointerleave", () => this.#leave());
  }

  show(series, marks = []) {
    this.series = series.filter(({ values }) => values.some((value) => value !== 0)); // what is always 0 says nothing
    this.marks = marks;
    this.node.hidden = !this.series.length;
    if (this.series.length) this.#draw();
  }

  #scale() {
    const steps = this.series.flatMap((one) => [one.steps[0], one.steps.at(-1)]);
    const values = this.series.flatMap((one) => [...one.values, ...(one.band ? [...one.band[1], ...one.band[2]] : [])]);
    let [low, high] = this.isShare ? [0, 1] : [Math.min(...values), Math.max(...values)];
    if (!this.isShare) {
      const room = (high - low || Math.abs(high) || 1) * 0.08;
      [low, high] = [low >= 0 && low < high * 0.6 ? 0 : low - room, high + room];
    }
    const [first, last] = [Math.min(...steps), Math.max(...steps)];
    this.x = (step) => LEFT + ((step - first) / (last - first || 1)) * (WIDTH - LEFT - RIGHT);
    this.y = (value) => TOP + (1 - (Math.max(low, Math.min(high, value)) - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    return { low, high, first, last };
  }

  #say(value) {
    return this.isShare ? `${Math.round(value * 100)} %` : `${count(value)}${this.unit ? ` ${this.unit}` : ""}`;
  }

  #draw() {
    const { low, high, first, last } = this.#scale();
    const grid = (this.isShare ? [0, 0.25, 0.5, 0.75, 1] : ticks(low, high)).flatMap((value) => [
      svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: this.y(value), y2: this.y(value) }),
      svg("text", { class: "axis", x: LEFT - 6, y: this.y(value) + 4, "text-anchor": "end" }, this.isShare ? `${value * 100}` : brief(value))]);
    const along = ticks(first, last, 5).map((step) => svg("text", { class: "axis", x: this.x(step), y: HEIGHT - 8, "text-anchor": "middle" }, brief(step)));
    const marks = this.marks.map(({ step, text }) => svg("g", { class: "milestone" }, svg("line", { x1: this.x(step), x2: this.x(step), y1: TOP, y2: HEIGHT - BOTTOM }), svg("title", {}, text)));
    const drawn = this.series.flatMap((one, i) => {
      const path = one.steps.map((step, k) => `${this.x(step).toFixed(1)},${this.y(one.values[k]).toFixed(1)}`);
      return [one.band ? this.#band(one.band, i) : null,
        svg("polyline", { class: `line s${i % 6}${one.dashed ? " dashed" : ""}`, points: path.join(" ") }),
        one.band && one.steps.length < 40 ? one.steps.map((step, k) => svg("line", { class: `whisker s${i % 6}`, x1: this.x(step), x2: this.x(step), y1: this.y(one.band[1][k]), y2: this.y(one.band[2][k]) })) : null,
        one.steps.length < 40 ? one.steps.map((step, k) => svg("circle", { class: `dot s${i % 6}`, cx: this.x(step), cy: this.y(one.values[k]), r: 2.6 })) : null].flat();
    }).filter(Boolean);
    this.picture.replaceChildren(...grid, ...along, ...marks, ...drawn, this.cursor);
    this.legend.replaceChildren(...this.series.map((one, i) => el("span", { class: `key s${i % 6}` }, one.name, el("b", {}, this.#say(one.values.at(-1))))));
    this.picture.setAttribute("aria-label", `${this.node.querySelector("strong").textContent}: ${this.series.map((one) => `${one.name} ${this.#say(one.values.at(-1))}`).join(", ")}`);
  }

  #band([steps, low, high], i) {
    const up = steps.map((step, k) => `${this.x(step).toFixed(1)},${this.y(high[k]).toFixed(1)}`);
    const down = steps.map((step, k) => `${this.x(step).toFixed(1)},${this.y(low[k]).toFixed(1)}`).reverse();
    return svg("polygon", { class: `band s${i % 6}`, points: [...up, ...down].join(" ") });
  }

  #point(event) {
    if (!this.series.length) return;
    const box = this.picture.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * WIDTH;
    const nearest = (one) => one.steps.reduce((best, step, k) => (Math.abs(this.x(step) - at) < Math.abs(this.x(one.steps[best]) - at) ? k : best), 0);
    const step = this.series[0].steps[nearest(this.series[0])];
    this.cursor.setAttribute("x1", this.x(step));
    this.cursor.setAttribute("x2", this.x(step));
    this.cursor.setAttribute("visibility", "visible");
    this.reading.textContent = `${count(step)} steps · ${this.series.map((one) => `${one.name} ${this.#say(one.values[nearest(one)])}`).join(" · ")}`;
  }

  #leave() {
    this.cursor.setAttribute("visibility", "hidden");
    this.reading.textContent = "";
  }
}

// Shares of points, row against column: 0 red, ½ plain, 1 green. rates: [[share, matches] | null].
export function heatMap(names, rates) {
  const cell = (i, j) => {
    const rate = rates[i][j];
    if (!rate) return el("td", { class: "none" }, i === j ? "" : "·");
    const [share, matches] = rate;
    const side = share >= 0.5 ? "good" : "bad";
    return el("td", { class: `rate ${side} heat${Math.round(Math.abs(share - 0.5) * 20)}`, title: `${names[i]} against ${names[j]}: ${(share * 100).toFixed(1)} % of ${matches} matches` }, String(Math.round(share * 100)));
  };
  return el("table", { class: "heat" }, el("caption", {}, "Score in % of the row player against the column player"),
    el("thead", {}, el("tr", {}, el("td", {}), names.map((name) => el("th", { scope: "col" }, el("span", {}, name))))),
    el("tbody", {}, names.map((name, i) => el("tr", {}, el("th", { scope: "row" }, name), names.map((_, j) => cell(i, j))))));
}

// How often it won, by what was stated; on the diagonal the number means what it says. curve: [{stated, won, share}].
export function reliability(curve, label) {
  const size = 220;
  const [x, y] = [(v) => 40 + v * (size - 50), (v) => size - 30 - v * (size - 40)];
  const most = Math.max(...curve.map((part) => part.share), 1e-9);
  return svg("svg", { viewBox: `0 0 ${size} ${size}`, class: "reliability", role: "img", "aria-label": label },
    [0, 0.5, 1].flatMap((v) => [svg("line", { class: "grid", x1: x(0), x2: x(1), y1: y(v), y2: y(v) }), svg("line", { class: "grid", x1: x(v), x2: x(v), y1: y(0), y2: y(1) }),
      svg("text", { class: "axis", x: x(0) - 5, y: y(v) + 4, "text-anchor": "end" }, `${v * 100}`), svg("text", { class: "axis", x: x(v), y: size - 16, "text-anchor": "middle" }, `${v * 100}`)]),
    svg("text", { class: "axis", x: x(0.5), y: size - 1, "text-anchor": "middle" }, "chance given, %"),
    svg("text", { class: "axis", x: 9, y: y(0.5), "text-anchor": "middle", transform: `rotate(-90 9 ${y(0.5)})` }, "won, %"),
    svg("line", { class: "ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
    svg("polyline", { class: "line s0", points: curve.filter((part) => part.share >= RARE).map((part) => `${x(part.stated).toFixed(1)},${y(part.won).toFixed(1)}`).join(" ") }),
    curve.map((part) => svg("circle", { class: part.share < RARE ? "dot s0 rare" : "dot s0", cx: x(part.stated), cy: y(part.won), r: 2 + 5 * Math.sqrt(part.share / most) },
      svg("title", {}, `given ${(part.stated * 100).toFixed(0)} %, won ${(part.won * 100).toFixed(0)} %, ${(part.share * 100).toFixed(1)} % of decisions`))));
}
