// Where we look from: behind a car, behind a car towards the ball, from the stands, or wherever you drag to.

import { add, mix, scale, sub, unit } from "./gl.js";

export const CAMERAS = [["tv", "Stands"], ["ball", "Ball"], ["car", "Car"], ["free", "Free"]];
const flat = (v) => unit([v[0], v[1], 0.0001]);

export class Camera {
  constructor() {
    this.kind = "tv";
    this.seat = 0;
    this.eye = [0, -7000, 3200];
    this.target = [0, 0, 0];
    this.orbit = { turn: -1.1, tilt: 0.5, away: 6400 };
    this.isFresh = true;
  }

  choose(kind, seat = this.seat) {
    this.kind = kind;
    this.seat = seat;
    this.isFresh = true;
  }

  drag(dx, dy) {
    this.orbit.turn -= dx * 0.006;
    this.orbit.tilt = Math.max(0.06, Math.min(1.5, this.orbit.tilt + dy * 0.005));
  }

  zoom(by) {
    this.orbit.away = Math.max(700, Math.min(12000, this.orbit.away * by));
  }

  // Moves towards where it wants to be; `seconds` since the last picture.
  follow({ ball, cars }, seconds) {
    const [eye, target, pace] = this.#wanted(ball, cars[this.seat] ?? cars[0]);
    const share = this.isFresh ? 1 : 1 - Math.exp(-pace * seconds);
    this.eye = mix(this.eye, eye, share);
    this.target = mix(this.target, target, this.isFresh ? 1 : 1 - Math.exp(-pace * 1.6 * seconds));
    this.isFresh = false;
  }

  #wanted(ball, car) {
    if (this.kind === "free") {
      const { turn, tilt, away } = this.orbit;
      const centre = scale(ball.place, 0.35);
      return [add(centre, [Math.cos(turn) * Math.cos(tilt) * away, Math.sin(turn) * Math.cos(tilt) * away, Math.sin(tilt) * away]), centre, 9];
    }
    if (this.kind === "tv" || !car) {
      const [x, y, z] = ball.place;
      return [[Math.min(3850, x + 2500), y * 0.86, 1050 + z * 0.35], [x * 0.96, y * 0.97, 60 + z * 0.7], 3];
    }
    const ahead = this.kind === "ball" ? flat(sub(ball.place, car.place)) : flat(car.forward);
    const eye = add(add(car.place, scale(ahead, -290)), [0, 0, 130]);
    eye[2] = Math.max(70, eye[2]);
    const rise = this.kind === "ball" ? Math.max(-120, Math.min(190, (ball.place[2] - car.place[2]) * 0.3)) : 0;
    const target = add(car.place, add(scale(ahead, 560), [0, 0, 60 + rise]));
    return [eye, target, 12];
  }
}
