// What things look like: lists of triangles, nine floats a corner. Lengths in uu, z up; a car looks along x.

import { cross, sub, unit } from "./gl.js";

export const FIELD = { side: 4096, back: 5120, cut: 1152, roof: 2044, goal: 893, bar: 643, net: 880, ball: 92.75 };

const HALF_PADS = [[0, -4240, 70], [-1792, -4184, 70], [1792, -4184, 70], [-3072, -4096, 73], [3072, -4096, 73], [-940, -3308, 70], [940, -3308, 70],
  [0, -2816, 70], [-3584, -2484, 70], [3584, -2484, 70], [-1788, -2300, 70], [1788, -2300, 70], [-2048, -1036, 70], [0, -1024, 70], [2048, -1036, 70], [-3584, 0, 73], [-1024, 0, 70]];
// In the simulator's order.
export const PADS = [...HALF_PADS, ...HALF_PADS.toReversed().map(([x, y, z]) => [-x, -y, z])];

export class Shape {
  constructor() {
    this.floats = [];
  }

  triangle(a, b, c, paint) {
    const normal = unit(cross(sub(b, a), sub(c, a)));
    for (const corner of [a, b, c]) this.floats.push(...corner, ...normal, ...paint);
    return this;
  }

  quad(a, b, c, d, paint) {
    return this.triangle(a, b, c, paint).triangle(a, c, d, paint);
  }

  box([x0, y0, z0], [x1, y1, z1], paint) {
    const p = (i) => [i & 1 ? x1 : x0, i & 2 ? y1 : y0, i & 4 ? z1 : z0];
    for (const [a, b, c, d] of [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]) this.quad(p(a), p(b), p(c), p(d), paint);
    return this;
  }

  // A hull through stations [x, half width below, half width above, z below, z above], from the tail to the nose.
  hull(stations, paint, roof = paint) {
    const ring = ([x, w, u, low, high]) => [[x, -w, low], [x, w, low], [x, u, high], [x, -u, high]];
    for (let i = 0; i + 1 < stations.length; i++) {
      const [a, b] = [ring(stations[i]), ring(stations[i + 1])];
      for (let k = 0; k < 4; k++) this.quad(a[k], a[(k + 1) % 4], b[(k + 1) % 4], b[k], k === 2 ? roof : paint);
    }
    const [first, last] = [ring(stations[0]), ring(stations.at(-1))];
    return this.quad(...first.toReversed(), paint).quad(...last, paint);
  }

  // A wheel: a short cylinder along y.
  wheel([x, y, z], radius, width, rubber, rim) {
    const n = 14;
    const at = (k, r, side) => [x + r * Math.cos((2 * Math.PI * k) / n), y + side * width / 2, z + r * Math.sin((2 * Math.PI * k) / n)];
    for (let k = 0; k < n; k++) {
      this.quad(at(k, radius, -1), at(k + 1, radius, -1), at(k + 1, radius, 1), at(k, radius, 1), rubber);
      for (const side of [-1, 1]) {
        const ends = [at(k, radius, side), at(k + 1, radius, side)];
        const inner = [at(k, radius * 0.6, side), at(k + 1, radius * 0.6, side)];
        const [a, b] = side > 0 ? [0, 1] : [1, 0];
        this.quad(inner[a], inner[b], ends[b], ends[a], rubber);
        this.triangle([x, y + side * width / 2, z], inner[b], inner[a], rim);
      }
    }
    return this;
  }

  sphere(radius, rings = 24) {
    const at = (i, k) => {
      const [v, u] = [(Math.PI * i) / rings, (Math.PI * k) / rings];
      return [Math.sin(v) * Math.cos(u), Math.sin(v) * Math.sin(u), Math.cos(v)];
    };
    const put = (n) => this.floats.push(n[0] * radius, n[1] * radius, n[2] * radius, ...n, ...n);
    for (let i = 0; i < rings; i++) for (let k = 0; k < 2 * rings; k++) for (const [a, b] of [[i, k], [i + 1, k], [i + 1, k + 1], [i, k], [i + 1, k + 1], [i, k + 1]]) put(at(a, b));
    return this;
  }

  disc(radius, z = 0, n = 40) {
    for (let k = 0; k < n; k++) {
      const at = (one) => [radius * Math.cos((2 * Math.PI * one) / n), radius * Math.sin((2 * Math.PI * one) / n), z];
      this.floats.push(0, 0, z, 0, 0, 1, 0, 0, 0, ...at(k), 0, 0, 1, ...at(k).slice(0, 2).map((v) => v / radius), 1, ...at(k + 1), 0, 0, 1, ...at(k + 1).slice(0, 2).map((v) => v / radius), 1);
    }
    return this;
  }

  // Fades from its mouth (paint.z 1) to its tip (0), along −x.
  flame(radius, size, n = 16) {
    for (let k = 0; k < n; k++) {
      const at = (one) => [0, radius * Math.cos((2 * Math.PI * one) / n), radius * Math.sin((2 * Math.PI * one) / n)];
      this.floats.push(-size, 0, 0, -1, 0, 0, 0, 0, 0, ...at(k), 0, 0, 1, 0, 0, 1, ...at(k + 1), 0, 0, 1, 0, 0, 1);
    }
    return this;
  }
}

// White is the team's colour, which the shader puts there; everything else is painted as it is.
export function car() {
  const [body, dark, glass, trim] = [[1, 1, 1], [0.09, 0.1, 0.12], [0.16, 0.22, 0.28], [0.75, 0.77, 0.8]];
  return new Shape()
    .hull([[-56, 26, 24, 4, 20], [-48, 36, 33, -2, 26], [-20, 39, 36, -5, 27], [16, 39, 36, -5, 24], [44, 36, 30, -4, 16], [61, 28, 22, 0, 8]], body)
    .hull([[-40, 28, 20, 24, 36], [-26, 30, 22, 26, 41], [4, 28, 21, 24, 39], [26, 24, 22, 21, 23]], glass, body)
    .box([-54, -36, 36], [-42, 36, 39], body).box([-50, -30, 22], [-44, -26, 37], dark).box([-50, 26, 22], [-44, 30, 37], dark)
    .box([-62, -15, 6], [-54, 15, 16], dark).box([56, -24, -1], [63, 24, 3], trim)
    .box([57, -22, 7], [61, -12, 10], [0.95, 0.97, 1]).box([57, 12, 7], [61, 22, 10], [0.95, 0.97, 1]);
}

export const wheel = (radius) => new Shape().wheel([0, 0, 0], radius, 13, [0.05, 0.05, 0.06], [0.7, 0.72, 0.75]);
export const WHEELS = [[36, 33, -2, 13], [36, -33, -2, 13], [-34, 34, 0, 15], [-34, -34, 0, 15]];

// The octagon of the walls, seen from inside, with a gap for each goal; and the nets behind the gaps.
export function walls() {
  const { side, back, cut, roof, goal, bar, net } = FIELD;
  const shape = new Shape();
  const ring = [[goal, back], [side - cut, back], [side, back - cut], [side, cut - back], [side - cut, -back], [goal, -back]];
  const panel = ([ax, ay], [bx, by], low, high) => shape.quad([ax, ay, low], [bx, by, low], [bx, by, high], [ax, ay, high], [0, 0, 0]);
  for (const turn of [1, -1]) {
    const at = ([x, y]) => [turn * x, turn * y];
    for (let i = 0; i + 1 < ring.length; i++) panel(at(ring[i]), at(ring[i + 1]), 0, roof);
    panel(at([-goal, back]), at([goal, back]), bar, roof);
  }
  for (const end of [1, -1]) {
    const [line, deep] = [end * back, end * (back + net)];
    const p = (x, y, z) => [end * x, y, z];
    shape.quad(p(-goal, deep, 0), p(goal, deep, 0), p(goal, deep, bar), p(-goal, deep, bar), [1, 0, 0]);
    shape.quad(p(goal, deep, 0), p(goal, line, 0), p(goal, line, bar), p(goal, deep, bar), [1, 0, 0]);
    shape.quad(p(-goal, line, 0), p(-goal, deep, 0), p(-goal, deep, bar), p(-goal, line, bar), [1, 0, 0]);
    shape.quad(p(goal, line, bar), p(-goal, line, bar), p(-goal, deep, bar), p(goal, deep, bar), [1, 0, 0]);
  }
  return shape;
}

export function floor() {
  const { side, back, cut, goal, net } = FIELD;
  const shape = new Shape();
  const ring = [[side - cut, back], [side, back - cut], [side, cut - back], [side - cut, -back], [cut - side, -back], [-side, cut - back], [-side, back - cut], [cut - side, back]];
  ring.forEach((corner, i) => shape.triangle([0, 0, 0], [...ring[(i + 1) % 8], 0], [...corner, 0], [0, 0, 0]));
  for (const end of [1, -1]) shape.quad([-end * goal, end * back, 0], [end * goal, end * back, 0], [end * goal, end * (back + net), 0], [-end * goal, end * (back + net), 0], [0, 0, 0]);
  return shape;
}

// Posts and bars of both goals.
export function frames() {
  const { back, goal, bar } = FIELD;
  const shape = new Shape();
  for (const end of [1, -1]) {
    const y = end * back;
    const paint = end > 0 ? [1, 0.55, 0.2] : [0.35, 0.62, 1];
    for (const x of [-goal, goal]) shape.box([x - 22, y - 22, 0], [x + 22, y + 22, bar + 22], paint);
    shape.box([-goal, y - 22, bar - 22], [goal, y + 22, bar + 22], paint);
  }
  return shape;
}

// Lines of light along the upper edge and the foot of the walls, seen from inside only.
export function lights() {
  const { side, back, cut, roof, goal } = FIELD;
  const shape = new Shape();
  const [blue, orange] = [[0.35, 0.62, 1], [1, 0.55, 0.2]];
  const strip = ([ax, ay], [bx, by], low, high, paint) => shape.quad([ax, ay, low], [bx, by, low], [bx, by, high], [ax, ay, high], paint);
  const half = [[0, back], [side - cut, back], [side, back - cut], [side, 0]];
  for (const [sx, sy] of [[1, 1], [1, -1], [-1, 1], [-1, -1]]) {
    const run = half.map(([x, y]) => [sx * x * 0.999, sy * y * 0.999]);
    if (sx * sy < 0) run.reverse();
    for (let i = 0; i < 3; i++) {
      strip(run[i], run[i + 1], roof - 26, roof, sy > 0 ? orange : blue);
      const isGoal = Math.min(Math.abs(run[i][0]), Math.abs(run[i + 1][0])) < goal;
      if (!isGoal) strip(run[i], run[i + 1], 0, 14, sy > 0 ? orange : blue);
    }
  }
  return shape;
}
