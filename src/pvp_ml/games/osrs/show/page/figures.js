// A fighter as a small upright figure. One unit is a tile; the feet stand at (0, 0), up is negative y, it looks right.

const CLOTH = { magic: "#3f5fae", ranged: "#33452f", melee: "#8d887e", none: "#b98f6a" };
const TINTS = [
  [/ancestral/, "#c9c2dc"], [/mystic/, "#3b62b8"], [/infinity/, "#d9c98e"], [/ahrims/, "#4d5d70"], [/elder_chaos/, "#4a2f3f"],
  [/ghostly/, "#b9c7d3"], [/black_dhide|ancient_/, "#2c3830"], [/armadyl/, "#d6d3c2"], [/karils/, "#5f4d3b"], [/dharoks/, "#7d7566"],
  [/rune_/, "#4c8993"], [/bandos/, "#a08a4a"], [/veracs|guthans/, "#8a8468"], [/3rd_age/, "#e2d8b8"], [/slayer/, "#3c3c40"],
  [/neitiznot/, "#a3a3a8"], [/berserker/, "#9a8f80"], [/halo/, "#7fd18a"], [/infernal/, "#d8612a"], [/fire_cape/, "#e08a2a"],
  [/guthix_cape/, "#3f8a4a"], [/rangers/, "#4f6b3a"],
];
const tint = (key, otherwise) => TINTS.find(([pattern]) => pattern.test(key ?? ""))?.[1] ?? otherwise;

function paint(ctx, fill, edge) {
  ctx.fillStyle = fill;
  ctx.fill();
  if (edge) {
    ctx.strokeStyle = edge;
    ctx.lineWidth = 0.03;
    ctx.stroke();
  }
}

function poly(ctx, points, fill, edge = "#1b1611") {
  ctx.beginPath();
  points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  ctx.closePath();
  paint(ctx, fill, edge);
}

function dot(ctx, x, y, r, fill, edge = "#1b1611") {
  ctx.beginPath();
  ctx.arc(x, y, r, 0, Math.PI * 2);
  paint(ctx, fill, edge);
}

function bar(ctx, x1, y1, x2, y2, width, colour) {
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.lineCap = "round";
  ctx.strokeStyle = "#1b1611";
  ctx.lineWidth = width + 0.05;
  ctx.stroke();
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.stroke();
}

// Weapons point along +x from the hand at (0, 0).
const WEAPONS = {
  staff: (ctx, key) => {
    bar(ctx, -0.45, 0, 0.62, 0, 0.06, "#6b5334");
    dot(ctx, 0.68, 0, 0.11, /toxic|dead/.test(key) ? "#7fd15a" : /volatile/.test(key) ? "#ff7a3c" : /kodai/.test(key) ? "#b06be0" : "#68b7ff");
  },
  blade: (ctx, colour, length, width) => {
    poly(ctx, [[0.12, -width], [length, -width * 0.5], [length + 0.1, 0], [length, width * 0.5], [0.12, width]], colour);
    bar(ctx, 0.1, -0.12, 0.1, 0.12, 0.05, "#c99a35");
    bar(ctx, -0.12, 0, 0.08, 0, 0.05, "#4a3a28");
  },
  claws: (ctx) => {
    for (const y of [-0.09, 0, 0.09]) poly(ctx, [[0, y - 0.03], [0.42, y * 2.2], [0, y + 0.03]], "#d24a3d");
    dot(ctx, 0, 0, 0.09, "#5a4636");
  },
  whip: (ctx, colour) => {
    ctx.beginPath();
    ctx.moveTo(0, 0);
    ctx.bezierCurveTo(0.3, -0.5, 0.6, 0.4, 0.95, -0.15);
    ctx.strokeStyle = colour;
    ctx.lineWidth = 0.07;
    ctx.lineCap = "round";
    ctx.stroke();
    bar(ctx, -0.12, 0.02, 0.06, -0.02, 0.07, "#3a2c20");
  },
  maul: (ctx, colour) => {
    bar(ctx, -0.2, 0, 0.55, 0, 0.06, "#5a4636");
    poly(ctx, [[0.5, -0.2], [0.85, -0.2], [0.9, 0], [0.85, 0.2], [0.5, 0.2]], colour);
  },
  axe: (ctx) => {
    bar(ctx, -0.3, 0, 0.8, 0, 0.06, "#5a4636");
    poly(ctx, [[0.5, -0.04], [0.62, -0.34], [0.86, -0.24], [0.86, 0.24], [0.62, 0.34], [0.5, 0.04]], "#aaa294");
  },
  crossbow: (ctx, colour) => {
    bar(ctx, -0.15, 0, 0.5, 0, 0.08, "#5a4636");
    ctx.beginPath();
    ctx.arc(0.15, 0, 0.36, -1.1, 1.1);
    ctx.strokeStyle = colour;
    ctx.lineWidth = 0.07;
    ctx.stroke();
  },
  bow: (ctx) => {
    ctx.beginPath();
    ctx.arc(-0.12, 0, 0.5, -1.25, 1.25);
    ctx.strokeStyle = "#5b4b72";
    ctx.lineWidth = 0.07;
    ctx.stroke();
    bar(ctx, 0.04, -0.47, 0.04, 0.47, 0.012, "#ddd6c6");
  },
};

function drawWeapon(ctx, kind, key) {
  if (kind === "staff" || kind === "ancient_staff") WEAPONS.staff(ctx, key);
  else if (kind === "claws") WEAPONS.claws(ctx);
  else if (kind === "whip") WEAPONS.whip(ctx, /tentacle/.test(key) ? "#3a96a8" : "#b23c3c");
  else if (kind === "granite_maul") WEAPONS.maul(ctx, "#85858d");
  else if (kind === "elder_maul" || kind === "warhammer") WEAPONS.maul(ctx, "#b59d58");
  else if (kind === "greataxe") WEAPONS.axe(ctx);
  else if (kind === "crossbow") WEAPONS.crossbow(ctx, /zaryte/.test(key) ? "#8a6ad0" : "#b3a27f");
  else if (kind === "ballista") WEAPONS.crossbow(ctx, "#a07c46");
  else if (kind === "dark_bow") WEAPONS.bow(ctx);
  else if (kind === "godsword") WEAPONS.blade(ctx, "#eceadd", 1.0, 0.1);
  else if (kind === "dragon_dagger" || kind === "knife") WEAPONS.blade(ctx, "#d24a3d", 0.45, 0.05);
  else if (kind === "javelin") bar(ctx, -0.4, 0, 0.7, 0, 0.045, "#b89a5a");
  else if (kind !== "unarmed") WEAPONS.blade(ctx, kind === "scimitar" ? "#d24a3d" : "#c3cfd0", 0.72, 0.06);
}

// fighter: as in a scene; pose: {swing 0…1 or null, walk 0…1 or null, fall 0…1, time}
export function drawFighter(ctx, fighter, pose) {
  const { worn, dress } = fighter;
  const body = tint(worn.body, CLOTH[dress.body]);
  const legs = tint(worn.legs, CLOTH[dress.legs]);
  const head = tint(worn.head, CLOTH[dress.head]);
  const stride = pose.walk === null ? 0 : Math.sin(pose.walk * Math.PI * 4) * 0.1;
  const breath = Math.sin(pose.time / 420) * 0.012;
  ctx.save();
  if (pose.fall > 0) {
    ctx.globalAlpha *= 1 - pose.fall * 0.35;
    ctx.rotate(-pose.fall * 1.45);
  }
  const lunge = pose.swing === null ? 0 : Math.sin(pose.swing * Math.PI) * (fighter.style === "melee" ? 0.22 : -0.05);
  ctx.translate(lunge, 0);
  if (worn.cape) poly(ctx, [[-0.16, -1.02], [0.06, -1.02], [-0.02, -0.2], [-0.42, -0.16]], tint(worn.cape, "#70624f"));
  if (dress.legs === "magic") {
    poly(ctx, [[-0.17, -0.58], [0.17, -0.58], [0.28 + stride * 0.5, -0.02], [-0.28 - stride * 0.5, -0.02]], legs);
  } else {
    bar(ctx, -0.08, -0.55, -0.11 - stride, -0.05, 0.14, legs);
    bar(ctx, 0.08, -0.55, 0.11 + stride, -0.05, 0.14, legs);
  }
  ctx.translate(0, breath);
  if (worn.shield && !/book/.test(worn.shield)) {
    poly(ctx, [[-0.36, -0.98], [-0.12, -0.94], [-0.12, -0.62], [-0.24, -0.5], [-0.38, -0.64]], tint(worn.shield, "#8796ab"));
  } else if (worn.shield) {
    poly(ctx, [[-0.34, -0.86], [-0.14, -0.9], [-0.12, -0.64], [-0.33, -0.6]], "#7a5a9a");
  }
  poly(ctx, [[-0.2, -1.05], [0.2, -1.05], [0.19, -0.55], [-0.19, -0.55]], body);
  if (dress.body === "magic") poly(ctx, [[-0.05, -1.05], [0.05, -1.05], [0.07, -0.55], [-0.07, -0.55]], "#d8b75b", null);
  else if (dress.body === "melee") poly(ctx, [[-0.17, -0.98], [0.17, -0.98], [0.1, -0.78], [-0.1, -0.78]], "#ffffff30", null);
  else poly(ctx, [[-0.19, -0.66], [0.19, -0.66], [0.19, -0.6], [-0.19, -0.6]], "#8a6a3c", null);
  drawHead(ctx, head, dress.head);
  drawArm(ctx, fighter, pose, body);
  ctx.restore();
}

function drawHead(ctx, colour, kind) {
  dot(ctx, 0, -1.22, 0.17, "#d9ab84");
  if (kind === "magic") {
    poly(ctx, [[-0.24, -1.26], [0.24, -1.26], [0.1, -1.4], [-0.02, -1.72], [-0.12, -1.4]], colour);
  } else if (kind === "ranged") {
    ctx.beginPath();
    ctx.arc(0, -1.24, 0.2, Math.PI * 0.85, Math.PI * 2.05);
    ctx.closePath();
    ctx.fillStyle = colour;
    ctx.fill();
  } else if (kind === "melee") {
    poly(ctx, [[-0.2, -1.1], [-0.21, -1.32], [-0.08, -1.44], [0.08, -1.44], [0.21, -1.32], [0.2, -1.24], [0.02, -1.24], [0.0, -1.1]], colour);
  } else {
    ctx.beginPath();
    ctx.arc(0, -1.26, 0.18, Math.PI, Math.PI * 2);
    ctx.fillStyle = "#5b4029";
    ctx.fill();
  }
  dot(ctx, 0.08, -1.21, 0.022, "#1b1611", null);
}

function drawArm(ctx, fighter, pose, colour) {
  const resting = fighter.style === "ranged" ? -0.15 : -0.95;
  let angle = resting;
  if (pose.swing !== null) {
    const s = pose.swing;
    if (fighter.style === "melee") angle = s < 0.35 ? resting - s * 2.4 : resting - 0.84 + (s - 0.35) * 3.2;
    else if (fighter.style === "magic") angle = resting - Math.sin(s * Math.PI) * 0.7;
    else angle = -0.1 - Math.sin(Math.min(1, s * 2) * Math.PI) * 0.25;
  }
  const x = 0.32;
  const y = fighter.style === "ranged" || pose.swing !== null ? -0.86 : -0.74;
  bar(ctx, 0.12, -0.96, x, y, 0.12, colour);
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(angle);
  drawWeapon(ctx, fighter.weapon_class, fighter.worn.weapon ?? "");
  ctx.restore();
  dot(ctx, x, y, 0.065, "#d9ab84");
  if (pose.swing !== null && fighter.style === "magic") {
    ctx.save();
    ctx.globalAlpha *= Math.sin(pose.swing * Math.PI) * 0.8;
    dot(ctx, x + Math.cos(angle) * 0.68, y + Math.sin(angle) * 0.68, 0.26, "#a8dcff", null);
    ctx.restore();
  }
}
