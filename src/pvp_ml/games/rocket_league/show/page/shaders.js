// How things are painted. `mode` tells what: 0 solid, 1 floor, 2 wall and net, 3 glow, 4 shadow, 5 boost pad, 6 ball.

export const VERTEX = `
in vec3 position; in vec3 normal; in vec3 paint;
uniform mat4 model; uniform mat4 camera;
out vec3 at; out vec3 facing; out vec3 colour; out vec3 own;
void main() {
  vec4 world = model * vec4(position, 1.0);
  at = world.xyz; own = position; colour = paint;
  facing = mat3(model) * normal;
  gl_Position = camera * world;
}`;

export const FRAGMENT = `
in vec3 at; in vec3 facing; in vec3 colour; in vec3 own;
uniform int mode; uniform vec3 tint; uniform vec3 eye; uniform float share; uniform float time;
out vec4 result;
const vec3 BLUE = vec3(0.16, 0.42, 0.95), ORANGE = vec3(0.98, 0.47, 0.11);

float line(float distance, float width) { float f = fwidth(distance) * 1.2; return 1.0 - smoothstep(width, width + f, abs(distance)); }
float grid(vec2 p, float size, float width) { vec2 q = abs(fract(p / size - 0.5) - 0.5) * size; vec2 f = fwidth(p) * 1.2;
  vec2 l = 1.0 - smoothstep(vec2(width), vec2(width) + f, q); return max(l.x, l.y) * clamp(1.0 - max(f.x, f.y) / size * 3.0, 0.0, 1.0); }
vec3 side(float y) { return mix(BLUE, ORANGE, smoothstep(-900.0, 900.0, y)); }

vec3 grass() {
  vec2 p = at.xy;
  float stripe = step(0.5, fract(p.y / 1280.0));
  vec3 base = mix(vec3(0.085, 0.2, 0.135), vec3(0.105, 0.24, 0.16), stripe);
  base = mix(base, (p.y < 0.0 ? BLUE : ORANGE) * 0.42, 0.12 * smoothstep(200.0, 1500.0, abs(p.y)) + 0.42 * smoothstep(2600.0, 5600.0, abs(p.y)));
  float marks = line(length(p) - 930.0, 11.0);
  marks = max(marks, line(p.y, 11.0));
  marks = max(marks, 1.0 - smoothstep(60.0, 66.0, length(p)));
  vec2 q = abs(p);
  float area = max(q.x - 1800.0, -(q.y - 4020.0));
  marks = max(marks, line(area, 10.0) * step(q.y, 5125.0));
  marks = max(marks, line(q.y - 5120.0, 12.0) * step(q.x, 893.0));
  float glow = exp(-pow(length(p) / 3400.0, 2.0)) * 0.05;
  return base + marks * vec3(0.5, 0.54, 0.58) + grid(p, 512.0, 2.0) * 0.025 + glow;
}

vec3 ball(vec3 n) {
  vec3 d = normalize(own);
  vec3 q = abs(d);
  float seam = min(min(abs(q.x - q.y), abs(q.y - q.z)), abs(q.z - q.x));
  float rings = abs(fract(max(q.x, max(q.y, q.z)) * 4.0) - 0.5);
  float dark = max(1.0 - smoothstep(0.02, 0.05, seam), 1.0 - smoothstep(0.03, 0.08, rings));
  return mix(vec3(0.86, 0.88, 0.92), vec3(0.25, 0.28, 0.34), dark * 0.75);
}

void main() {
  vec3 n = normalize(facing), view = normalize(eye - at);
  float sun = max(dot(n, normalize(vec3(0.35, -0.25, 0.9))), 0.0);
  float sky = 0.5 + 0.5 * n.z;
  float rim = pow(1.0 - max(dot(n, view), 0.0), 3.0);
  float far = smoothstep(9000.0, 17000.0, distance(eye, at));
  if (mode == 1) { result = vec4(mix(grass(), vec3(0.03, 0.045, 0.085), far), 1.0); return; }
  if (mode == 2) {
    vec2 p = abs(n.x) > abs(n.y) ? at.yz : abs(n.z) > 0.9 ? at.xy : at.xz;
    if (abs(n.x) > 0.5 && abs(n.y) > 0.5) p = vec2((at.x - at.y * sign(n.x * n.y)) * 0.7071, at.z);
    float lines = colour.x > 0.5 ? grid(p, 110.0, 5.0) * 0.5 : grid(p, 512.0, 5.0) * 0.34;
    float foot = exp(-at.z / 260.0);
    vec3 shade = side(at.y);
    result = vec4(shade * (0.35 + lines) + shade * foot * 0.6, 0.1 + lines * 0.5 + foot * 0.34 + (colour.x > 0.5 ? 0.12 : 0.0));
    return;
  }
  if (mode == 3) { float f = colour.z; result = vec4(mix(tint, vec3(1.0, 0.97, 0.86), f * f * 0.8), f * share); return; }
  if (mode == 4) { float r = length(colour.xy); result = vec4(0.0, 0.0, 0.0, share * (1.0 - smoothstep(0.25, 1.0, r))); return; }
  if (mode == 5) {
    float r = length(colour.xy), turn = atan(colour.y, colour.x) / 6.28318 + 0.5;
    float ready = step(share, 0.0);
    float edge = smoothstep(0.78, 0.84, r) * (1.0 - smoothstep(0.94, 1.0, r));
    float core = (1.0 - smoothstep(0.0, 0.75, r)) * (0.7 + 0.2 * sin(time * 3.0));
    float clock = edge * step(share, turn);
    result = vec4(tint + core * ready * 0.5, ready > 0.5 ? max(edge, core) : max(clock * 0.8, edge * 0.18));
    return;
  }
  vec3 paint = mode == 6 ? ball(n) : colour.x > 0.99 && colour.y > 0.99 && colour.z > 0.99 ? tint : colour;
  vec3 light = paint * (0.26 + 0.3 * sky + 0.62 * sun) + rim * (mode == 6 ? 0.3 : 0.22) * (tint * 0.5 + 0.5);
  float shine = pow(max(dot(reflect(-view, n), normalize(vec3(0.35, -0.25, 0.9))), 0.0), 28.0);
  light += shine * (mode == 6 ? 0.25 : 0.5);
  if (share > 0.0) light = colour * share;
  result = vec4(mix(light, vec3(0.03, 0.045, 0.085), far * 0.7), 1.0);
}`;
