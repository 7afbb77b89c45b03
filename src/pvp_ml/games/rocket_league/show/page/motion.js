// Between two steps: where everything is at this very moment.
//
// Watching, a picture lies between the last two steps (curves through places and speeds). Driving, it runs ahead of the
// newest step by what speeds and gravity say, so that the car answers at once; what was wrong fades away.

import { add, cross, length, mix, scale, sub, unit } from "./gl.js";

const GRAVITY = [0, 0, -650];
const JUMP_UU = 1800; // no car and no ball goes that far in a step: it was put there
const FADE_S = 0.09;
const [TEAM, BOOST, FLAGS] = [0, 16, 17];
export const [ON_GROUND, SUPERSONIC, DEMOED, HAS_FLIP, BOOSTING] = [1, 2, 4, 8, 16];

// The simulator's axes are left-handed; a picture is not. x is turned round, once, here.
const mirrored = (v, at) => [-v[at], v[at + 1], v[at + 2]];

export function readBall(ball) {
  return { place: mirrored(ball, 0), speed: mirrored(ball, 3), spin: scale(mirrored(ball, 6), -1) };
}

export function readCar(car) {
  return {
    team: car[TEAM], place: mirrored(car, 1), speed: mirrored(car, 4), forward: mirrored(car, 7), up: mirrored(car, 10), spin: scale(mirrored(car, 13), -1),
    boost: car[BOOST], flags: car[FLAGS], steer: car[18],
  };
}

function between(a, b, share, seconds) {
  if (length(sub(a.place, b.place)) > JUMP_UU) return share < 0.5 ? a.place : b.place;
  const [s, t] = [share, 1 - share];
  const [h0, h1, k0, k1] = [(1 + 2 * s) * t * t, s * s * (3 - 2 * s), s * t * t * seconds, -s * s * t * seconds];
  return [0, 1, 2].map((i) => h0 * a.place[i] + h1 * b.place[i] + k0 * a.speed[i] + k1 * b.speed[i]);
}

const ahead = (thing, seconds, falls) => add(add(thing.place, scale(thing.speed, seconds)), falls ? scale(GRAVITY, seconds * seconds / 2) : [0, 0, 0]);
const turned = (axis, spin, seconds) => unit(add(axis, scale(cross(spin, axis), seconds)));

export class Motion {
  constructor(log) {
    this.log = log;
    this.wrong = new Map(); // what is drawn beside where it should be: fades
    this.shown = new Map();
    this.seen = -1;
    this.last = 0;
  }

  // {ball, cars, scene} at this moment; null while there is no step.
  at(now) {
    const { log } = this;
    const { frame } = log;
    if (!frame?.scene.cars) return null;
    const step_s = log.facts.step_s ?? 8 / 120;
    const isAhead = log.isPlaying && log.isFollowing && !log.facts.paused && !log.isOver;
    const share = (now - log.shownAt) / (log.facts.tick_ms || 67);
    const before = log.moves ? log.frames[log.at - 1]?.scene : null;
    const { scene } = frame;
    const draw = (key, to, from, falls) => (isAhead ? this.#ahead(key, to, Math.min(share, 1.6) * step_s, falls) : this.#between(from, to, Math.min(1, share), step_s));
    const ball = draw("ball", readBall(scene.ball), before && readBall(before.ball), scene.ball[2] > 110);
    const cars = scene.cars.map((one, seat) => {
      const to = readCar(one);
      return draw(seat, to, before && readCar(before.cars[seat]), !(to.flags & ON_GROUND));
    });
    this.seen = frame.step;
    this.last = now;
    return { ball, cars, scene };
  }

  #between(from, to, share, seconds) {
    if (!from) return to;
    const place = between(from, to, share, seconds);
    return to.forward ? { ...to, place, forward: unit(mix(from.forward, to.forward, share)), up: unit(mix(from.up, to.up, share)), boost: from.boost + (to.boost - from.boost) * share } : { ...to, place };
  }

  #ahead(key, thing, seconds, falls) {
    const aim = ahead(thing, seconds, falls);
    if (this.log.frame.step !== this.seen && this.shown.has(key)) {
      const off = sub(this.shown.get(key), aim);
      this.wrong.set(key, length(off) > 500 ? [0, 0, 0] : off);
      this.wrongAt = this.log.shownAt;
    }
    const off = scale(this.wrong.get(key) ?? [0, 0, 0], Math.exp(-Math.max(0, seconds) / FADE_S));
    const place = add(aim, off);
    this.shown.set(key, place);
    return thing.forward ? { ...thing, place, forward: turned(thing.forward, thing.spin, seconds), up: turned(thing.up, thing.spin, seconds) } : { ...thing, place };
  }
}
