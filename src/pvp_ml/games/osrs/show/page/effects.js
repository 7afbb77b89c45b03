// What flies and flashes: hit splats, projectiles, ice, blood, vengeance, floating words. Units as in figures.js.

import { paths, PRAYERS } from "./icons.js";

const bubbles = Object.fromEntries(Object.entries(PRAYERS).map(([name, [shape, colour]]) => [name, paths(shape, colour)]));

export function drawOverhead(ctx, name, x, y, size) {
  const parts = bubbles[name];
  if (!parts) return;
  ctx.save();
  ctx.translate(x, y);
  ctx.fillStyle = "#14100bd8";
  ctx.strokeStyle = PRAYERS[name][1];
  ctx.lineWidth = size * 0.07;
  ctx.beginPath();
  ctx.arc(0, 0, size * 0.72, 0, Math.PI * 2);
  ctx.fill();
  ctx.stroke();
  ctx.scale(size / 22, size / 22);
  ctx.translate(-12, -12);
  for (const [path, colour] of parts) {
    ctx.fillStyle = colour;
    ctx.fill(path);
  }
  ctx.restore();
}

export function drawHealth(ctx, x, y, width, share) {
  const height = Math.max(4, width * 0.12);
  ctx.fillStyle = "#0009";
  ctx.fillRect(x - width / 2 - 1, y - 1, width + 2, height + 2);
  ctx.fillStyle = "#c3261d";
  ctx.fillRect(x - width / 2, y, width, height);
  ctx.fillStyle = "#3fc23a";
  ctx.fillRect(x - width / 2, y, width * Math.max(0, Math.min(1, share)), height);
}

export function drawSplat(ctx, x, y, size, splats, t) {
  if (!splats.count) return;
  const pop = t < 0.15 ? t / 0.15 : 1 + Math.max(0, 0.12 - (t - 0.15)) * 1.5;
  const radius = size * (0.42 + Math.min(splats.damage, 60) / 220) * pop;
  ctx.save();
  ctx.translate(x, y);
  ctx.beginPath();
  for (let i = 0; i < 16; i++) {
    const r = i % 2 ? radius * 0.72 : radius;
    ctx.lineTo(Math.cos((i / 16) * Math.PI * 2 + 0.2) * r, Math.sin((i / 16) * Math.PI * 2 + 0.2) * r);
  }
  ctx.closePath();
  ctx.fillStyle = splats.damage ? "#b3160f" : "#2c5fb8";
  ctx.strokeStyle = splats.damage ? "#ff8a6a" : "#9cc3ff";
  ctx.lineWidth = size * 0.035;
  ctx.fill();
  ctx.stroke();
  label(ctx, String(splats.damage), 0, 0, radius * 0.95, "#fff");
  if (splats.count > 1) label(ctx, `×${splats.count}`, radius * 1.05, radius * 0.75, radius * 0.5, "#ffd9c9");
  ctx.restore();
}

export function label(ctx, text, x, y, size, colour) {
  ctx.font = `700 ${size}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.lineWidth = size * 0.22;
  ctx.lineJoin = "round";
  ctx.strokeStyle = "#000b";
  ctx.strokeText(text, x, y);
  ctx.fillStyle = colour;
  ctx.fillText(text, x, y);
}

export function drawProjectile(ctx, from, to, progress, attack, size) {
  const x = from.x + (to.x - from.x) * progress;
  const arc = attack.style === "ranged" ? Math.sin(progress * Math.PI) * size * 0.25 : Math.sin(progress * Math.PI) * size * 0.5;
  const y = from.y + (to.y - from.y) * progress - arc;
  ctx.save();
  ctx.translate(x, y);
  if (attack.style === "ranged") {
    ctx.rotate(Math.atan2(to.y - from.y, to.x - from.x));
    ctx.strokeStyle = attack.special ? "#ffd75e" : "#f0e6d0";
    ctx.lineWidth = size * 0.07;
    ctx.lineCap = "round";
    ctx.beginPath();
    ctx.moveTo(-size * 0.3, 0);
    ctx.lineTo(size * 0.12, 0);
    ctx.stroke();
    ctx.fillStyle = attack.special ? "#fff2b0" : "#bfc7cc";
    ctx.beginPath();
    ctx.moveTo(size * 0.3, 0);
    ctx.lineTo(size * 0.08, -size * 0.09);
    ctx.lineTo(size * 0.08, size * 0.09);
    ctx.fill();
  } else {
    const colour = attack.spell?.startsWith("Blood") ? "214,40,50" : attack.spell ? "127,212,255" : "190,150,255";
    const glow = ctx.createRadialGradient(0, 0, 0, 0, 0, size * 0.36);
    glow.addColorStop(0, "#fff");
    glow.addColorStop(0.3, `rgba(${colour},.95)`);
    glow.addColorStop(1, `rgba(${colour},0)`);
    ctx.fillStyle = glow;
    ctx.beginPath();
    ctx.arc(0, 0, size * 0.36, 0, Math.PI * 2);
    ctx.fill();
  }
  ctx.restore();
}

export function drawIce(ctx, x, y, size, strength) {
  ctx.save();
  ctx.translate(x, y);
  ctx.globalAlpha *= 0.35 + 0.45 * strength;
  const spikes = [[-0.46, 0.5], [-0.28, 0.85], [-0.08, 0.62], [0.12, 0.95], [0.32, 0.7], [0.5, 0.45]];
  for (const [at, height] of spikes) {
    ctx.beginPath();
    ctx.moveTo((at - 0.13) * size, 0.1 * size);
    ctx.lineTo(at * size, -height * size * (0.7 + 0.3 * strength));
    ctx.lineTo((at + 0.13) * size, 0.1 * size);
    ctx.closePath();
    const shade = ctx.createLinearGradient(0, -height * size, 0, 0.1 * size);
    shade.addColorStop(0, "#e9fbffee");
    shade.addColorStop(1, "#58b5e0cc");
    ctx.fillStyle = shade;
    ctx.fill();
    ctx.strokeStyle = "#d6f4ff";
    ctx.lineWidth = size * 0.02;
    ctx.stroke();
  }
  ctx.restore();
}

export function drawBurst(ctx, x, y, size, colour, t) {
  ctx.save();
  ctx.globalAlpha *= Math.max(0, 1 - t);
  ctx.strokeStyle = colour;
  ctx.lineWidth = size * 0.09 * (1 - t * 0.6);
  ctx.beginPath();
  ctx.ellipse(x, y, size * (0.25 + t * 0.75), size * (0.18 + t * 0.5), 0, 0, Math.PI * 2);
  ctx.stroke();
  ctx.restore();
}

export function drawVengeance(ctx, x, y, size, time) {
  ctx.save();
  ctx.translate(x, y);
  for (let i = 0; i < 7; i++) {
    const angle = time / 700 + (i / 7) * Math.PI * 2;
    const reach = 0.5 + 0.06 * Math.sin(time / 130 + i * 2);
    ctx.fillStyle = i % 2 ? "#ff6a2acc" : "#ffb347cc";
    ctx.beginPath();
    ctx.arc(Math.cos(angle) * reach * size, Math.sin(angle) * reach * size * 0.45, size * 0.06, 0, Math.PI * 2);
    ctx.fill();
  }
  ctx.restore();
}
