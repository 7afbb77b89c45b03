// A little WebGL 2: programs, meshes and 4×4 matrices (column by column, as the card wants them).

export function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, `#version 300 es\nprecision highp float;\n${source}`);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  }
  ["position", "normal", "paint"].forEach((name, place) => gl.bindAttribLocation(made, place, name));
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  const places = new Map();
  const place = (name) => {
    if (!places.has(name)) places.set(name, gl.getUniformLocation(made, name));
    return places.get(name);
  };
  return { use: () => gl.useProgram(made), place };
}

// Triangles of nine floats a corner: position, normal, paint.
export class Mesh {
  constructor(gl, floats, isMoving = false) {
    this.gl = gl;
    this.usage = isMoving ? gl.DYNAMIC_DRAW : gl.STATIC_DRAW;
    this.array = gl.createVertexArray();
    this.buffer = gl.createBuffer();
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    [0, 1, 2].forEach((place) => {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 36, 12 * place);
    });
    this.fill(floats);
  }

  fill(floats) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, floats instanceof Float32Array ? floats : new Float32Array(floats), this.usage);
    this.corners = floats.length / 9;
  }

  draw() {
    this.gl.bindVertexArray(this.array);
    this.gl.drawArrays(this.gl.TRIANGLES, 0, this.corners);
  }
}

export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a, by) => [a[0] * by, a[1] * by, a[2] * by];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const length = (a) => Math.hypot(...a);
export const unit = (a) => scale(a, 1 / (length(a) || 1));
export const mix = (a, b, share) => a.map((value, i) => value + (b[i] - value) * share);

export function perspective(angle, ratio, near, far) {
  const f = 1 / Math.tan(angle / 2);
  return [f / ratio, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0];
}

export function lookAt(eye, target) {
  const back = unit(sub(eye, target));
  const right = unit(cross([0, 0, 1], back));
  const up = cross(back, right);
  return [right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0, -dot(right, eye), -dot(up, eye), -dot(back, eye), 1];
}

export function times(a, b) {
  const out = new Float32Array(16);
  for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) for (let k = 0; k < 4; k++) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
  return out;
}

// A thing at a place, its own axes given (forward, left, up), stretched along them.
export const placed = (at, forward = [1, 0, 0], left = [0, 1, 0], up = [0, 0, 1], size = [1, 1, 1]) => [
  ...scale(forward, size[0]), 0, ...scale(left, size[1]), 0, ...scale(up, size[2]), 0, ...at, 1];
