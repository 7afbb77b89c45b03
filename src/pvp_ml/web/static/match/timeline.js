// Time: pause, step, speed, and a picture of the whole match that can be dragged through.

import { el, svg } from "../dom.js";

const SPEEDS = [["¼×", 4], ["½×", 2], ["1×", 1], ["2×", 1 / 2], ["8×", 1 / 8]];
const FASTEST_MS = 16;
const [PLAY, PAUSE] = ["M4 2l10 6-10 6z", "M3 2h4v12H3zM9 2h4v12H9z"];
const [BACK, FORTH] = ["M12 2v12L4 8zM2 2h2v12H2z", "M4 2v12l8-6zM12 2h2v12h-2z"];
const sign = (d) => svg("svg", { viewBox: "0 0 16 16", class: "sign", "aria-hidden": "true" }, svg("path", { d }));
const WIDTH = 1000;
const HEIGHT = 64;

export class Timeline {
  // act: {pause(), resume(), step(), speed(ms)} talk to the server; in a replay the page keeps time itself.
  // `tick_ms` is the game's own pace.
  constructor(node, log, view, act, tick_ms = 600) {
    this.log = log;
    this.view = view;
    this.act = act;
    this.timer = 0;
    this.drawn = -1;
    const button = (id, face, label, press) => el("button", { type: "button", id, "aria-label": label, title: label, onclick: press }, face);
    this.play = button("play", sign(PAUSE), "Pause", () => this.toggle());
    this.back = button("back", sign(BACK), "One step back (←)", () => this.stepBy(-1));
    this.forth = button("forth", sign(FORTH), "One step on (→)", () => this.stepBy(1));
    this.live = button("live", "Live", "Live: follow the newest step (End)", () => this.follow());
    this.speeds = el("div", { class: "speeds", role: "radiogroup", "aria-label": "Speed" }, SPEEDS.map(([text, times]) => [text, Math.max(FASTEST_MS, Math.round(tick_ms * times))]).map(([text, ms]) =>
      el("button", { type: "button", role: "radio", "aria-checked": "false", dataset: { ms: String(ms) }, title: `${ms} ms a step`, onclick: () => this.setSpeed(ms) }, text)));
    this.where = el("output", { class: "where" });
    this.slider = el("input", { type: "range", id: "scrub", min: "0", max: "0", value: "0", "aria-label": "Step of the match", oninput: () => this.scrub(Number(this.slider.value)) });
    this.chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", class: "chart", "aria-hidden": "true" });
    this.cursor = svg("line", { y1: 0, y2: HEIGHT, class: "cursor" });
    this.legend = el("p", { class: "legend" });
    this.tick = el("span", { class: "tick" });
    node.replaceChildren(
      el("div", { class: "controls" }, this.back, this.play, this.forth, this.speeds, this.live, this.where, this.legend),
      el("div", { class: "track" }, this.chart, this.slider), el("div", { class: "ticker", "aria-hidden": "true" }, this.tick));
  }

  get isPaused() {
    return this.log.isLive ? this.log.facts.paused || !this.log.isFollowing : this.timer === 0;
  }

  toggle() {
    const { log } = this;
    if (log.isLive && log.isFollowing && !log.facts.paused) this.act.pause();
    else if (log.isLive) {
      log.follow();
      this.act.resume();
    } else if (this.timer) this.halt();
    else this.roll();
  }

  // A replay moves by itself.
  roll() {
    if (this.log.at >= this.log.frames.length - 1) this.log.seek(0);
    this.halt();
    const next = () => {
      if (this.log.at >= this.log.frames.length - 1) this.halt();
      else {
        this.log.seek(this.log.at + 1);
        this.timer = setTimeout(next, this.log.facts.tick_ms);
      }
    };
    this.timer = setTimeout(next, this.log.facts.tick_ms);
    this.render();
  }

  halt() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.render();
  }

  stepBy(delta) {
    const { log } = this;
    this.halt();
    if (log.isLive && log.at === log.frames.length - 1 && delta > 0) {
      if (!log.facts.paused) this.act.pause();
      else this.act.step();
    } else this.scrub(log.at + delta);
  }

  scrub(step) {
    const { log } = this;
    this.halt();
    if (log.isLive && log.facts.driving && !log.facts.paused) this.act.pause();
    log.seek(step);
  }

  follow() {
    this.halt();
    this.log.follow();
  }

  setSpeed(ms) {
    if (this.log.isLive) this.act.speed(ms);
    else this.log.change({ tick_ms: ms });
  }

  render() {
    const { log } = this;
    const last = Math.max(0, log.frames.length - 1);
    const canDrive = !log.isLive || log.facts.driving;
    this.play.firstChild.firstChild.setAttribute("d", this.isPaused ? PLAY : PAUSE);
    this.play.setAttribute("aria-label", this.isPaused ? "Play (space)" : "Pause (space)");
    this.play.disabled = !log.frames.length || (log.isLive && !canDrive && log.isFollowing);
    for (const node of this.speeds.children) {
      node.setAttribute("aria-checked", String(Number(node.dataset.ms) === log.facts.tick_ms));
      node.disabled = !canDrive;
    }
    this.live.hidden = !log.isLive;
    this.live.setAttribute("aria-pressed", String(log.isFollowing));
    this.slider.max = String(last);
    this.slider.value = String(Math.max(0, log.at));
    this.slider.setAttribute("aria-valuetext", `step ${log.at} of ${last}`);
    this.where.textContent = log.frames.length ? `${Math.max(0, log.at)} / ${last}` : "";
    this.#draw(last);
  }

  #draw(last) {
    const { log } = this;
    const x = (step) => (last ? (step / last) * WIDTH : 0);
    this.cursor.setAttribute("x1", x(log.at));
    this.cursor.setAttribute("x2", x(log.at));
    const isOld = log.frames.length < this.drawn || log.frames.length - this.drawn > (log.isLive ? log.frames.length / 100 : 0);
    if (!isOld && this.chart.childElementCount) return; // a long match is redrawn once it has grown by 1 %
    this.drawn = log.frames.length;
    const lines = new Map();
    const add = (name, step, share) => {
      if (!lines.has(name)) lines.set(name, []);
      lines.get(name).push(`${x(step).toFixed(1)},${(HEIGHT - 3 - Math.max(0, Math.min(1, share)) * (HEIGHT - 6)).toFixed(1)}`);
    };
    const marks = [];
    const values = log.frames.flatMap((frame) => Object.values(frame.thoughts).map((thought) => Math.abs(thought.value)));
    const top = Math.max(0.5, ...values);
    for (const frame of log.frames) {
      this.view.lines(frame).forEach((share, seat) => add(`hp seat${seat}`, frame.step, share));
      for (const [seat, thought] of Object.entries(frame.thoughts)) {
        if (thought.win !== null) add(`win seat${seat}`, frame.step, thought.win);
        add(`value seat${seat}`, frame.step, 0.5 + thought.value / top / 2);
      }
      this.view.marks(frame).forEach((mark, seat) => mark && marks.push(svg("circle", { cx: x(frame.step), cy: seat ? HEIGHT - 5 : 5, r: 3.5, class: `mark ${mark} seat${seat}` })));
    }
    this.chart.replaceChildren(svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2, class: "half" }),
      ...[...lines].map(([name, points]) => svg("polyline", { points: points.join(" "), class: name, "vector-effect": "non-scaling-stroke" })), ...marks, this.cursor);
    const kinds = new Set([...lines.keys()].map((name) => name.split(" ")[0]));
    this.legend.replaceChildren(...[["hp", this.view.lineLabel ?? "hitpoints"], ["win", "chance to win"], ["value", "value"]].filter(([kind]) => kinds.has(kind)).map(([kind, text]) => el("span", { class: `key ${kind}` }, text)));
  }

  // The bar that runs from one tick to the next.
  draw(now) {
    const { log } = this;
    const runs = !this.isPaused && log.frames.length && !(log.isOver && log.isLive);
    const share = runs ? Math.max(0, Math.min(1, (now - log.shownAt) / (log.facts.tick_ms || 600))) : 0;
    this.tick.style.transform = `scaleX(${share})`;
  }
}
