// What you press becomes the choice of the game's table that is nearest to it.

import { el } from "/static/dom.js";

const KEYS = {
  w: "ahead", arrowup: "ahead", s: "back", arrowdown: "back", a: "left", arrowleft: "left", d: "right", arrowright: "right", q: "rollLeft", e: "rollRight",
  " ": "jump", shift: "boost", x: "slide", control: "slide",
};
const AXES = ["throttle", "steer", "pitch", "yaw", "roll"];
const BUTTONS = ["jump", "boost", "handbrake"];
const ON_GROUND = { throttle: 3, steer: 3, pitch: 1, yaw: 0, roll: 1, jump: 9, boost: 4, handbrake: 2 };
const IN_AIR = { throttle: 0.2, steer: 0, pitch: 3, yaw: 2, roll: 2, jump: 9, boost: 4, handbrake: 0 };
export const HELP = [["w", "drive; in the air: nose down"], ["s", "brake and reverse; in the air: nose up"], ["a", "steer left"], ["d", "steer right"], ["q", "roll left"], ["e", "roll right"], ["Space", "jump; again in the air: flip"], ["Shift", "boost"], ["x", "powerslide"]];

// "throttle+1 steer-1 boost" as eight numbers.
export function readChoice(name) {
  const controls = Object.fromEntries([...AXES, ...BUTTONS].map((one) => [one, 0]));
  for (const part of name.split(" ")) {
    const [, axis, value] = /^([a-z]+)([+-][\d.]+)$/.exec(part) ?? [];
    if (axis in controls) controls[axis] = Number(value);
    else if (part in controls) controls[part] = 1;
  }
  return controls;
}

export class Driving {
  constructor(heads, order) {
    this.head = heads[0];
    this.rows = this.head.choices.map(readChoice);
    this.order = order; // called with a choice when it changes
    this.down = new Set();
    this.fresh = new Set(); // went down since the last step
    this.leaving = new Set(); // went up again before it: a tap counts for one step
    this.sent = "";
    addEventListener("keyup", (event) => this.#let(event.key.toLowerCase()));
    addEventListener("blur", () => this.release());
  }

  // Whether the key is one of ours.
  press(key) {
    const name = KEYS[key.toLowerCase()];
    if (name) this.hold(name);
    return Boolean(name);
  }

  #let(key) {
    if (KEYS[key]) this.drop(KEYS[key]);
  }

  hold(name) {
    if (this.down.has(name) && !this.leaving.has(name)) return; // a key repeats while it is held
    this.leaving.delete(name);
    this.down.add(name);
    this.fresh.add(name);
    this.changed?.();
  }

  drop(name) {
    if (this.fresh.has(name)) this.leaving.add(name);
    else this.down.delete(name);
    this.changed?.();
  }

  // A step was played.
  stepped() {
    for (const name of this.leaving) this.down.delete(name);
    this.leaving.clear();
    this.fresh.clear();
  }

  release() {
    for (const names of [this.down, this.fresh, this.leaving]) names.clear();
    this.changed?.();
  }

  wanted(isOnGround) {
    const is = (name) => (this.down.has(name) ? 1 : 0);
    const [turn, drive, roll] = [is("right") - is("left"), is("ahead") - is("back"), is("rollRight") - is("rollLeft")];
    const inAir = !isOnGround || is("jump");
    return { throttle: is("boost") ? 1 : drive, steer: turn, yaw: inAir && is("jump") && !isOnGround ? 0 : turn, pitch: inAir ? -drive : 0, roll: inAir && is("jump") && !isOnGround && turn ? turn : roll, jump: is("jump"), boost: is("boost"), handbrake: is("slide") };
  }

  // The legal row that comes nearest. `legal` is a 0 or 1 for each choice.
  choose(legal, isOnGround) {
    const wanted = this.wanted(isOnGround);
    const weights = isOnGround && !wanted.jump ? ON_GROUND : IN_AIR;
    let best = -1;
    let least = Infinity;
    this.rows.forEach((row, i) => {
      if (legal[i] !== "1") return;
      let off = 0;
      for (const name of [...AXES, ...BUTTONS]) off += weights[name] * (row[name] - wanted[name]) ** 2;
      if (off < least - 1e-9) [best, least] = [i, off];
    });
    return this.head.choices[best];
  }

  // Say it when it is something else than before.
  send(legal, isOnGround) {
    const choice = this.choose(legal, isOnGround);
    if (choice === undefined || choice === this.sent) return;
    this.sent = choice;
    this.order([[this.head.name, choice]]);
  }
}

// Thumbs: directions on the left, buttons on the right.
export function touchPad(driving) {
  const button = (name, label, text) => {
    const node = el("button", { type: "button", class: `touch ${name}`, "aria-label": label }, text);
    const up = () => { node.classList.remove("down"); driving.drop(name); };
    node.addEventListener("pointerdown", (event) => { event.preventDefault(); node.classList.add("down"); driving.hold(name); });
    for (const kind of ["pointerup", "pointercancel", "pointerleave"]) node.addEventListener(kind, up);
    return node;
  };
  return el("div", { class: "touches" },
    el("div", { class: "thumb" }, button("left", "Left", "◀"), button("ahead", "Drive", "▲"), button("back", "Reverse", "▼"), button("right", "Right", "▶")),
    el("div", { class: "thumb" }, button("slide", "Powerslide", "Powerslide"), button("boost", "Boost", "Boost"), button("jump", "Jump", "Jump")));
}
