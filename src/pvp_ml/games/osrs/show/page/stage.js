// The tile view: ground, both fighters, everything that flies. A picture depends on the frames and the phase alone,
// so that a fight looks the same live, scrubbed and replayed.

import { el } from "/static/dom.js";
import { drawFighter } from "./figures.js";
import { drawBurst, drawHealth, drawIce, drawOverhead, drawProjectile, drawSplat, drawVengeance, label } from "./effects.js";
import { MOVES } from "./moves.js";

const SQUASH = 0.8;
const SEATS = ["#4da3ff", "#ff7d5c"];
const GROUND = {
  dark: { tile: [72, 64, 48], water: [38, 60, 82], line: "#00000026", stone: "#8b8170", grass: "#6f7d48" },
  light: { tile: [186, 170, 128], water: [118, 160, 186], line: "#5b46201f", stone: "#968c76", grass: "#7f8f48" },
};
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

/** Tiles where nobody can stand, from rows of (y, first x, last x). */
const blockedTiles = (rows) => {
  const tiles = new Set();
  for (const [y, first, last] of rows) for (let x = first; x <= last; x++) tiles.add(`${x} ${y}`);
  return tiles;
};

const noise = (x, y) => {
  let h = (Math.imul(x, 374761393) + Math.imul(y, 668265263)) | 0;
  h = Math.imul(h ^ (h >>> 13), 1274126177);
  return ((h ^ (h >>> 16)) >>> 0) / 4294967296;
};

export class Stage {
  constructor(log, press) {
    this.log = log;
    this.press = press; // called with a move when a tile is clicked
    this.canvas = el("canvas", { class: "tiles", role: "img", "aria-label": "The arena" });
    this.hover = null;
    this.camera = null;
    this.canvas.addEventListener("pointermove", (event) => { this.hover = this.#tileAt(event); });
    this.canvas.addEventListener("pointerleave", () => { this.hover = null; });
    this.canvas.addEventListener("click", (event) => {
      const move = this.#moveTo(this.#tileAt(event));
      if (move) this.press(move);
    });
  }

  describe() {
    const frame = this.log.frame;
    if (!frame) return "";
    const [a, b] = frame.scene.fighters;
    const tell = (f, name) => `${name}: ${f.hp[0]} of ${f.hp[1]} hitpoints, ${f.worn.weapon?.replaceAll("_", " ") ?? "unarmed"}, overhead ${f.overhead}` +
      (f.timers.freeze ? `, frozen for ${f.timers.freeze}` : "") + (f.vengeance ? ", vengeance" : "");
    return `Tick ${frame.scene.tick}. ${tell(a, this.log.facts.names?.[0] ?? "first")}. ${tell(b, this.log.facts.names?.[1] ?? "second")}.`;
  }

  draw(now) {
    const { log, canvas } = this;
    const frame = log.frame;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (!width || !frame || frame.scene.kind !== "osrs") return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const tick = log.facts.tick_ms || 600;
    const t = STILL.matches || !log.moves ? 1 : Math.max(0, Math.min(1, (now - log.shownAt) / tick)); // a frame may be newer than the clock of this picture
    const before = log.moves ? log.frames[log.at - 1] : null;
    const places = frame.scene.fighters.map((f, seat) => this.#place(f, before?.scene.fighters[seat], Math.min(1, t / 0.85)));
    this.#aim(places, width, height, now);
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#ground(ctx, width, height, blockedTiles(frame.scene.blocked ?? []));
    this.#ring(ctx, places);
    const order = places[0].y > places[1].y || (places[0].y === places[1].y && log.facts.human === 0) ? [0, 1] : [1, 0];
    for (const seat of order) this.#fighter(ctx, frame, before, seat, places, t, now);
    this.#flights(ctx, places, t);
    for (const seat of order) this.#signs(ctx, frame, before, seat, places, t);
  }

  #place(fighter, before, t) {
    const [x, y] = fighter.position;
    const [fromX, fromY] = before ? before.position : [x, y];
    return { x: fromX + (x - fromX) * t, y: fromY + (y - fromY) * t, isWalking: t < 1 && (x !== fromX || y !== fromY), t };
  }

  #aim(places, width, height, now) {
    const goal = { x: (places[0].x + places[1].x) / 2, y: (places[0].y + places[1].y) / 2 };
    const apart = Math.max(Math.abs(places[0].x - places[1].x), Math.abs(places[0].y - places[1].y) * 1.2);
    goal.size = Math.max(30, Math.min(width / (apart + 7), height / (apart * SQUASH + 5), 84));
    const old = this.camera;
    const ease = !old || STILL.matches || Math.abs(old.x - goal.x) > 12 ? 1 : 1 - Math.exp(-Math.max(0, now - old.now) / 220);
    const mix = (key) => (old && ease < 1 ? old[key] + (goal[key] - old[key]) * ease : goal[key]);
    this.camera = { x: mix("x"), y: mix("y"), size: mix("size"), width, height, now };
  }

  #screen(x, y) {
    const c = this.camera;
    return { x: c.width / 2 + (x - c.x) * c.size, y: c.height * 0.62 - (y - c.y) * c.size * SQUASH };
  }

  #tileAt(event) {
    const c = this.camera;
    if (!c) return null;
    return {
      x: Math.round((event.offsetX - c.width / 2) / c.size + c.x),
      y: Math.round((c.height * 0.62 - event.offsetY) / (c.size * SQUASH) + c.y),
    };
  }

  #moveTo(tile) {
    const { human, game } = this.log.facts;
    const frame = this.log.frame;
    if (!tile || human === null || human === undefined || !this.log.isPlaying || !frame) return null;
    const [x, y] = frame.scene.fighters[1 - human].position;
    const dx = Math.abs(tile.x - x);
    const dy = Math.abs(tile.y - y);
    const away = dx === 1 && dy === 1 ? 1.5 : Math.max(dx, dy);
    return (MOVES[game] ?? []).find((move) => move.group === "move" && move.away === away) ?? null;
  }

  #ground(ctx, width, height, blocked) {
    const theme = GROUND[document.documentElement.dataset.theme === "light" ? "light" : "dark"];
    const { size, x: cx, y: cy } = this.camera;
    const reachX = Math.ceil(width / size / 2) + 1;
    const reachY = Math.ceil(height / size / SQUASH) + 1;
    const high = size * SQUASH;
    for (let y = Math.round(cy) + reachY; y >= Math.round(cy) - reachY; y--) {
      for (let x = Math.round(cx) - reachX; x <= Math.round(cx) + reachX; x++) {
        const at = this.#screen(x, y);
        const n = noise(x, y);
        const patch = noise(Math.floor(x / 5) + 17, Math.floor(y / 4) - 9);
        const isBlocked = blocked.has(`${x} ${y}`);
        const shade = 0.88 + n * 0.12 + patch * 0.09 + ((x + y) & 1 && !isBlocked ? 0.03 : 0);
        const tile = isBlocked ? theme.water : theme.tile;
        ctx.fillStyle = `rgb(${tile.map((c) => Math.round(c * shade)).join(",")})`;
        ctx.fillRect(at.x - size / 2, at.y - high / 2, size + 1, high + 1);
        if (isBlocked) continue;
        ctx.strokeStyle = theme.line;
        ctx.strokeRect(at.x - size / 2 + 0.5, at.y - high / 2 + 0.5, size, high);
        if (n > 0.93) this.#tuft(ctx, at, size, theme, noise(y, x));
      }
    }
    const shade = ctx.createRadialGradient(width / 2, height * 0.55, height * 0.25, width / 2, height * 0.55, Math.max(width, height) * 0.75);
    shade.addColorStop(0, "#0000");
    shade.addColorStop(1, document.documentElement.dataset.theme === "light" ? "#3a2c1045" : "#00000088");
    ctx.fillStyle = shade;
    ctx.fillRect(0, 0, width, height);
  }

  #tuft(ctx, at, size, theme, n) {
    if (n < 0.5) {
      ctx.fillStyle = theme.stone;
      ctx.beginPath();
      ctx.ellipse(at.x + (n - 0.25) * size * 0.8, at.y, size * 0.13, size * 0.08, 0, 0, Math.PI * 2);
      ctx.fill();
      return;
    }
    ctx.strokeStyle = theme.grass;
    ctx.lineWidth = Math.max(1, size * 0.03);
    for (const lean of [-0.12, 0, 0.12]) {
      ctx.beginPath();
      ctx.moveTo(at.x + (n - 0.75) * size, at.y);
      ctx.lineTo(at.x + (n - 0.75 + lean) * size, at.y - size * 0.18);
      ctx.stroke();
    }
  }

  #ring(ctx, places) {
    const move = this.#moveTo(this.hover);
    const { size } = this.camera;
    if (move) {
      const at = this.#screen(this.hover.x, this.hover.y);
      ctx.fillStyle = "#ffe08a30";
      ctx.strokeStyle = "#ffe08a";
      ctx.lineWidth = 1.5;
      ctx.fillRect(at.x - size / 2, at.y - (size * SQUASH) / 2, size, size * SQUASH);
      ctx.strokeRect(at.x - size / 2, at.y - (size * SQUASH) / 2, size, size * SQUASH);
      label(ctx, move.label, at.x, at.y + size * SQUASH * 0.28, Math.max(11, size * 0.2), "#ffe9b0");
      this.canvas.style.cursor = "pointer";
    } else this.canvas.style.cursor = "default";
    places.forEach((place, seat) => {
      const at = this.#screen(place.x, place.y);
      ctx.strokeStyle = SEATS[seat];
      ctx.lineWidth = Math.max(2, size * 0.045);
      ctx.fillStyle = "#00000055";
      ctx.beginPath();
      ctx.ellipse(at.x, at.y, size * 0.4, size * 0.4 * 0.55, 0, 0, Math.PI * 2);
      ctx.fill();
      ctx.stroke();
    });
  }

  // Fighters on the same tile stand a little apart, so that both can be seen.
  #feet(seat, places) {
    const together = Math.abs(places[0].x - places[1].x) < 0.5 && Math.abs(places[0].y - places[1].y) < 0.5;
    const at = this.#screen(places[seat].x, places[seat].y);
    return { x: at.x + (together ? (seat ? 0.22 : -0.22) * this.camera.size : 0), y: at.y };
  }

  #fighter(ctx, frame, before, seat, places, t, now) {
    const fighter = frame.scene.fighters[seat];
    const { size } = this.camera;
    const at = this.#feet(seat, places);
    const other = this.#feet(1 - seat, places);
    const looksLeft = other.x < at.x - 1 || (Math.abs(other.x - at.x) <= 1 && seat === 1);
    if (fighter.vengeance) drawVengeance(ctx, at.x, at.y, size, now);
    ctx.save();
    ctx.translate(at.x, at.y);
    ctx.scale(size * 0.94 * (looksLeft ? -1 : 1), size * 0.94);
    const swing = fighter.attack && t < 0.8 ? t / 0.8 : null;
    drawFighter(ctx, fighter, {
      swing, walk: places[seat].isWalking ? places[seat].t : null, fall: fighter.dying ? Math.min(1, t * 1.4) : 0, time: STILL.matches ? 0 : now + seat * 900,
    });
    ctx.restore();
    if (fighter.timers.freeze > 0) drawIce(ctx, at.x, at.y + size * 0.06, size * 0.82, Math.min(1, fighter.timers.freeze / 16 + 0.35));
    if (fighter.attack?.special) drawBurst(ctx, at.x, at.y - size * 0.7, size, "#ffd75e", t);
    const froze = before && fighter.timers.freeze > before.scene.fighters[seat].timers.freeze;
    if (froze) drawBurst(ctx, at.x, at.y, size * 1.1, "#9fe2ff", t);
  }

  // Attacks of the last steps whose hits are still under way.
  #flights(ctx, places, t) {
    const { frames, at } = this.log;
    const { size } = this.camera;
    for (let step = Math.max(1, at - 6); step <= at; step++) {
      for (const seat of [0, 1]) {
        const attack = frames[step]?.scene.fighters[seat].attack;
        if (!attack || attack.style === "melee") continue;
        const delay = frames[step].scene.fighters[1 - seat].incoming.at(-1)?.delay ?? 0;
        const duration = Math.max(0.9, delay + 0.2);
        const progress = (at - step + t - 0.15) / duration;
        if (progress < 0 || progress >= 1) continue;
        const from = this.#feet(seat, places);
        const to = this.#feet(1 - seat, places);
        drawProjectile(ctx, { x: from.x, y: from.y - size * 0.85 }, { x: to.x, y: to.y - size * 0.7 }, progress, attack, size);
      }
    }
  }

  #signs(ctx, frame, before, seat, places, t) {
    const fighter = frame.scene.fighters[seat];
    const { size } = this.camera;
    const at = this.#feet(seat, places);
    const shift = Math.abs(this.#feet(1 - seat, places).x - at.x) < size * 0.7 ? (seat ? 1 : -1) * size * 0.16 : 0;
    const top = at.y - size * 1.95;
    drawHealth(ctx, at.x + shift, top, size * 0.72, fighter.hp[0] / fighter.hp[1]);
    drawOverhead(ctx, fighter.overhead, at.x + shift, top - size * 0.34, size * 0.34);
    drawSplat(ctx, at.x, at.y - size * 0.75, size * 0.8, fighter.splats, t);
    const past = before?.scene.fighters[seat];
    if (!past) return;
    const rise = top - size * (0.75 + t * 0.35);
    const healed = fighter.hp[0] - past.hp[0] + fighter.splats.damage;
    if (healed > 0) label(ctx, `+${healed}`, at.x + size * 0.42, at.y - size * (0.9 + t * 0.4), size * 0.28, "#7dff8a");
    if (past.vengeance && !fighter.vengeance) label(ctx, "Taste vengeance!", at.x, rise, size * 0.24, "#ffb14d");
    else if (fighter.attack?.special) label(ctx, "Special!", at.x, rise, size * 0.24, "#ffe08a");
    else if (fighter.timers.freeze > past.timers.freeze) label(ctx, "Frozen", at.x, rise, size * 0.24, "#a9e6ff");
  }
}
