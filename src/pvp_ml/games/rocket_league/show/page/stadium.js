// Draws a moment of a match: floor, walls, pads, cars, ball, shadows, trails.

import { add, cross, dot, lookAt, Mesh, perspective, placed, program, scale, sub, times, unit } from "./gl.js";
import { BOOSTING, DEMOED, SUPERSONIC } from "./motion.js";
import { FRAGMENT, VERTEX } from "./shaders.js";
import { car, FIELD, floor, frames, lights, PADS, Shape, walls, WHEELS, wheel } from "./shapes.js";

const TEAMS = [[0.13, 0.4, 0.95], [0.98, 0.43, 0.07]];
const TRAIL = 26;
const [SOLID, FLOOR, WALL, GLOW, SHADOW, PAD, BALL] = [0, 1, 2, 3, 4, 5, 6];

export class Stadium {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: true, powerPreference: "low-power", alpha: false });
    if (!gl) throw new Error("this browser has no WebGL 2");
    this.canvas = canvas;
    this.gl = gl;
    this.paint = program(gl, VERTEX, FRAGMENT);
    const mesh = (shape) => new Mesh(gl, shape.floats);
    this.floor = mesh(floor());
    this.walls = mesh(walls());
    this.frames = mesh(frames());
    this.lights = mesh(lights());
    this.car = mesh(car());
    this.wheels = [...new Set(WHEELS.map(([, , , r]) => r))].map((r) => [r, mesh(wheel(r))]);
    this.ball = mesh(new Shape().sphere(FIELD.ball));
    this.disc = mesh(new Shape().disc(1));
    this.flame = mesh(new Shape().flame(11, 95));
    this.ribbon = new Mesh(gl, [], true);
    this.trails = new Map(); // whose → places, newest last
    this.roll = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    this.spun = 0;
  }

  resize() {
    const { canvas, gl } = this;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    gl.viewport(0, 0, width, height);
    return width / Math.max(1, height);
  }

  draw(moment, camera, now, seconds) {
    const { gl, paint } = this;
    const ratio = this.resize();
    gl.clearColor(0.03, 0.045, 0.085, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    paint.use();
    const angle = (camera.kind === "tv" || camera.kind === "free" ? 0.85 : 1.15) * (ratio < 0.8 ? 1.25 : 1);
    gl.uniformMatrix4fv(paint.place("camera"), false, times(perspective(Math.min(1.9, angle), ratio, 12, 26000), lookAt(camera.eye, camera.target)));
    gl.uniform3fv(paint.place("eye"), camera.eye);
    gl.uniform1f(paint.place("time"), now / 1000);
    gl.disable(gl.BLEND);
    this.#set(FLOOR, placed([0, 0, 0]));
    this.floor.draw();
    this.#set(SOLID, placed([0, 0, 0]), [1, 1, 1], 1.1);
    this.frames.draw();
    gl.enable(gl.CULL_FACE);
    this.lights.draw();
    gl.disable(gl.CULL_FACE);
    moment.cars.forEach((one) => one.flags & DEMOED || this.#car(one, now));
    this.#ball(moment.ball, seconds);
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    this.#shadows(moment);
    this.#pads(moment.scene);
    gl.enable(gl.CULL_FACE);
    this.#set(WALL, placed([0, 0, 0]));
    this.walls.draw();
    gl.disable(gl.CULL_FACE);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE);
    this.#glows(moment, camera, now);
    gl.depthMask(true);
  }

  #set(mode, model, tint = [1, 1, 1], share = 0) {
    const { gl, paint } = this;
    gl.uniform1i(paint.place("mode"), mode);
    gl.uniformMatrix4fv(paint.place("model"), false, model);
    gl.uniform3fv(paint.place("tint"), tint);
    gl.uniform1f(paint.place("share"), share);
  }

  #car(one, now) {
    const left = unit(cross(one.up, one.forward));
    this.#set(SOLID, placed(one.place, one.forward, left, cross(one.forward, left)), TEAMS[one.team]);
    this.car.draw();
    const rolled = (now / 1000) * Math.min(1, Math.hypot(...one.speed) / 1400) * 22;
    WHEELS.forEach(([x, y, z, r], i) => {
      const turn = i < 2 ? -one.steer * 0.45 : 0;
      const ahead = unit(add(scale(one.forward, Math.cos(turn)), scale(left, Math.sin(turn))));
      const side = cross(one.up, ahead);
      const [c, s] = [Math.cos(rolled), Math.sin(rolled)];
      const at = add(add(add(one.place, scale(one.forward, x)), scale(left, y)), scale(one.up, z));
      this.#set(SOLID, placed(at, add(scale(ahead, c), scale(one.up, -s)), side, add(scale(ahead, s), scale(one.up, c))));
      this.wheels.find(([radius]) => radius === r)[1].draw();
    });
  }

  #ball(ball, seconds) {
    const [ahead, side] = this.roll.map((axis) => add(axis, scale(cross(ball.spin, axis), Math.min(seconds, 0.05))));
    const first = unit(ahead);
    const second = unit(sub(side, scale(first, dot(first, side)))); // stays at right angles, or the ball would grow dents
    this.roll = [first, second, cross(first, second)];
    this.#set(BALL, placed(ball.place, ...this.roll), [0.8, 0.9, 1]);
    this.ball.draw();
  }

  #shadows({ ball, cars }) {
    const under = (place, size, dark) => {
      const high = Math.max(0, place[2]);
      this.#set(SHADOW, placed([place[0], place[1], 3], [1, 0, 0], [0, 1, 0], [0, 0, 1], [size * (1 + high / 1500), size * (1 + high / 1500), 1]), [0, 0, 0], dark / (1 + high / 700));
      this.disc.draw();
    };
    under(ball.place, 150, 0.75);
    // A ring on the floor below the ball: where it will come down is what one aims for.
    if (ball.place[2] > 200) {
      this.#set(PAD, placed([ball.place[0], ball.place[1], 4], [1, 0, 0], [0, 1, 0], [0, 0, 1], [120, 120, 1]), [0.9, 0.95, 1], 0.0001);
      this.disc.draw();
    }
    cars.forEach((one) => one.flags & DEMOED || under(one.place, 95, 0.7));
  }

  #pads({ pads }) {
    const timers = new Map(pads);
    PADS.forEach(([x, y, z], i) => {
      const isBig = z > 72;
      const [size, all] = isBig ? [190, 10] : [95, 4];
      this.#set(PAD, placed([-x, y, 5], [1, 0, 0], [0, 1, 0], [0, 0, 1], [size, size, 1]), isBig ? [1, 0.62, 0.12] : [0.95, 0.75, 0.25], timers.has(i) ? Math.max(0.001, timers.get(i) / all) : 0);
      this.disc.draw();
    });
  }

  #glows({ ball, cars }, camera, now) {
    this.#trail("ball", ball.place, Math.hypot(...ball.speed) > 900, 46, [0.55, 0.75, 1], camera.eye, 0.55);
    cars.forEach((one, seat) => {
      const isGone = one.flags & DEMOED;
      const tail = add(one.place, add(scale(one.forward, -58), scale(one.up, 11)));
      if (!isGone && one.flags & BOOSTING) {
        const size = 1 + 0.25 * Math.sin(now / 17 + seat);
        this.#set(GLOW, placed(tail, one.forward, cross(one.up, one.forward), one.up, [size * 1.25, 1.15, 1.15]), [1, 0.5, 0.1], 0.95);
        this.flame.draw();
        this.flame.draw();
      }
      this.#trail(seat, tail, !isGone && Boolean(one.flags & (SUPERSONIC | BOOSTING)), one.flags & SUPERSONIC ? 26 : 13, one.flags & SUPERSONIC ? TEAMS[one.team] : [1, 0.55, 0.2], camera.eye, 0.6);
    });
  }

  // A ribbon through the last places, turned to the eye.
  #trail(whose, place, isOn, width, tint, eye, bright) {
    let places = this.trails.get(whose) ?? [];
    const last = places.at(-1);
    if (last && Math.hypot(...sub(last, place)) > 1200) places = [];
    places = isOn ? [...places, place].slice(-TRAIL) : places.slice(1);
    this.trails.set(whose, places);
    if (places.length < 3) return;
    const edge = places.map((at, i) => {
      const along = sub(places[Math.min(i + 1, places.length - 1)], places[Math.max(0, i - 1)]);
      const across = scale(unit(cross(along, sub(eye, at))), width * (i / places.length));
      return [add(at, across), sub(at, across), i / places.length];
    });
    const floats = [];
    const put = (at, fade) => floats.push(...at, 0, 0, 1, 0, 0, fade * 0.8);
    for (let i = 0; i + 1 < edge.length; i++) {
      const [[a, b, f], [c, d, g]] = [edge[i], edge[i + 1]];
      for (const [at, fade] of [[a, f], [b, f], [d, g], [a, f], [d, g], [c, g]]) put(at, fade);
    }
    this.#set(GLOW, placed([0, 0, 0]), tint, bright);
    this.ribbon.gl.bindVertexArray(this.ribbon.array);
    this.ribbon.fill(floats);
    this.ribbon.draw();
  }

  forget() {
    this.trails.clear();
  }
}
