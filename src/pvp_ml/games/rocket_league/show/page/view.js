// A match of Rocket League on the page: a stadium in three dimensions, the score above it, your controls below it.

import { $, el, toast } from "/static/dom.js";
import { Camera, CAMERAS } from "./camera.js";
import { Driving, HELP, readChoice, touchPad } from "./driving.js";
import { Motion, ON_GROUND, SUPERSONIC } from "./motion.js";
import { Stadium } from "./stadium.js";

const FLAGS = 17;
const GOAL_UU = 5120; // from the centre to a goal line
const HINT = [[["W", "A", "S", "D"], "drive"], [["Space"], "jump"], [["Shift"], "boost"], [["X"], "powerslide"], [["C"], "camera"]];
const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

export default class RocketView {
  static hasPanel = false;
  lineLabel = "ball, blue goal to orange goal";

  constructor(game, log, wishes, press, heads) {
    this.log = log;
    this.heads = heads;
    this.press = press;
    document.body.classList.add("rocket");
    this.motion = new Motion(log);
    this.camera = new Camera();
    this.driving = new Driving(heads, (picks) => press({ id: "drive", label: "Drive", picks, isHeld: true }));
    this.driving.changed = () => this.#drive();
    this.moves = HELP.map(([key, label]) => ({ id: key, group: "drive", key, label, picks: [], act: () => {} }));
    this.pictures = 0;
    this.last = 0;
    this.#build();
    log.addEventListener("reset", () => this.#seat());
    log.addEventListener("frame", () => { this.driving.stepped(); this.#drive(); });
  }

  #build() {
    this.canvas = el("canvas", { class: "stadium", role: "img", "aria-label": "The stadium" });
    const side = (team) => el("div", { class: `team team${team}` }, el("span", { class: "name" }), el("strong", {}, "0"));
    this.board = [side(0), el("time", { class: "clock" }, "0:00"), side(1)];
    this.cameras = el("div", { class: "cameras", role: "radiogroup", "aria-label": "Camera" }, CAMERAS.map(([kind, text]) =>
      el("button", { type: "button", role: "radio", dataset: { camera: kind }, onclick: () => this.#look(kind) }, text)));
    this.whose = el("button", { type: "button", class: "whose", onclick: () => this.#next() }, "Next car");
    this.gauge = el("div", { class: "gauge", role: "img", "aria-label": "Boost" }, el("strong", {}, "0"));
    this.cheer = el("p", { class: "cheer", role: "status" });
    this.touches = touchPad(this.driving);
    this.hint = el("p", { class: "hint" }, HINT.map(([keys, what]) => el("span", {}, keys.map((key) => el("kbd", {}, key)), what)));
    this.hasDriven = false;
    $("cards").replaceChildren();
    $("scene").replaceChildren(this.canvas, el("div", { class: "scoreboard" }, this.board), el("div", { class: "views" }, this.cameras, this.whose), this.gauge, this.cheer, this.hint, this.touches);
    try {
      this.stadium = new Stadium(this.canvas);
    } catch (error) {
      toast(`Can't draw the stadium: ${error.message}`, "error");
    }
    let held = null;
    this.canvas.addEventListener("pointerdown", (event) => { held = [event.clientX, event.clientY]; });
    addEventListener("pointerup", () => { held = null; });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!held) return;
      if (this.camera.kind !== "free") this.#look("free");
      this.camera.drag(event.clientX - held[0], event.clientY - held[1]);
      held = [event.clientX, event.clientY];
    });
    this.canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.#look("free"); this.camera.zoom(event.deltaY > 0 ? 1.1 : 0.91); }, { passive: false });
    this.#look("tv");
  }

  #seat() {
    const { human } = this.log.facts;
    const isDriving = human !== null && human !== undefined && this.log.facts.driving;
    this.camera.seat = isDriving ? human : 0;
    this.stadium?.forget();
    this.driving.sent = "";
    this.#look(isDriving ? "ball" : "tv");
  }

  #look(kind) {
    if (this.camera.kind !== kind || this.camera.isFresh) this.camera.choose(kind);
    for (const node of this.cameras.children) node.setAttribute("aria-checked", String(node.dataset.camera === kind));
  }

  #next() {
    const cars = this.log.frame?.scene.cars.length ?? 1;
    this.camera.choose(this.camera.kind === "tv" || this.camera.kind === "free" ? "ball" : this.camera.kind, (this.camera.seat + 1) % cars);
    this.#look(this.camera.kind);
  }

  // Keys that steer; true when it was one of them.
  hears(event) {
    if (!this.log.isPlaying) return false;
    if (event.key === "c") return this.#look(this.camera.kind === "ball" ? "car" : "ball"), true;
    return !(event.target instanceof HTMLButtonElement && event.key === " ") && this.driving.press(event.key) && (this.hasDriven = true);
  }

  #drive() {
    const { log } = this;
    if (!log.isPlaying || !log.newest?.legal || log.facts.paused) return;
    this.driving.send(log.newest.legal, Boolean(log.newest.scene.cars[log.facts.human][FLAGS] & ON_GROUND));
  }

  render() {
    const { frame, facts } = this.log;
    if (!frame?.scene.cars) return;
    const { scene } = frame;
    [0, 1].forEach((team) => {
      const [name, goals] = this.board[2 * team].children;
      name.textContent = scene.cars.map((one, seat) => (one[0] === team ? facts.names?.[seat] ?? `Seat ${seat + 1}` : null)).filter(Boolean).join(", ") || (team ? "Orange" : "Blue");
      goals.textContent = String(scene.score[team]);
    });
    this.board[1].textContent = clock(scene.left);
    this.touches.hidden = !this.log.isPlaying;
    this.hint.hidden = !this.log.isPlaying || this.hasDriven;
    this.gauge.hidden = !scene.cars[this.camera.seat];
    const scored = this.#scored();
    this.cheer.textContent = scored === null ? "" : `${scored ? "Orange" : "Blue"} scores`;
    this.cheer.className = `cheer team${scored}`;
    this.canvas.setAttribute("aria-label", this.#words(scene));
  }

  // A goal is cheered for two seconds.
  #scored() {
    for (let step = this.log.at; step > Math.max(0, this.log.at - 30); step--) {
      const goal = this.log.frames[step]?.scene.goal;
      if (goal !== null && goal !== undefined) return goal;
    }
    return null;
  }

  #words(scene) {
    const at = ([, x, y]) => `${y < 0 ? "blue" : "orange"} half, ${Math.abs(x) < 1300 ? "centre" : "wing"}`;
    return `${clock(scene.left)} left, blue ${scene.score[0]}, orange ${scene.score[1]}. Ball in the ${at([0, ...scene.ball])}. ${scene.cars.map((one) => `${one[0] ? "Orange" : "Blue"} car in the ${at(one)}, boost ${Math.round(one[16])}`).join(". ")}.`;
  }

  draw(now) {
    const moment = this.motion.at(now);
    if (!moment || !this.stadium) return;
    const seconds = Math.min(0.5, (now - this.last) / 1000);
    this.last = now;
    this.pictures += 1;
    this.camera.follow(moment, seconds);
    this.stadium.draw(moment, this.camera, now, seconds);
    const car = moment.cars[this.camera.seat];
    if (!car) return;
    this.gauge.style.setProperty("--full", `${car.boost}%`);
    this.gauge.lastChild.textContent = String(Math.round(car.boost));
    this.gauge.classList.toggle("fast", Boolean(car.flags & SUPERSONIC));
  }

  says(head, choice) {
    const row = readChoice(this.heads[0].choices[choice]);
    const said = [row.jump ? "jump" : "", row.boost ? "boost" : row.throttle > 0 ? "forward" : row.throttle < 0 ? "back" : "", row.steer || row.yaw ? (row.steer + row.yaw < 0 ? "left" : "right") : "",
      row.pitch ? (row.pitch < 0 ? "nose down" : "nose up") : "", row.roll ? (row.roll < 0 ? "roll left" : "roll right") : "", row.handbrake ? "slide" : ""].filter(Boolean);
    return said.join(", ") || "nothing";
  }

  // For the timeline: how far the ball is on its way to the orange goal.
  lines(frame) {
    return frame.scene.ball ? [(frame.scene.ball[1] / GOAL_UU + 1) / 2] : [];
  }

  marks(frame) {
    return [0, 1].map((team) => (frame.scene.goal === team ? "goal" : null));
  }
}
