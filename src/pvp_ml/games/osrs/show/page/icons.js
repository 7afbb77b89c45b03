// Little pictures of items, spells and prayers, drawn here: shapes on a 24 × 24 field, tinted by what the name says.

import { svg } from "/static/dom.js";

// Letters in a shape stand for colours: a main, b second, d dark edge, w white, g gold.
const SHAPES = {
  staff: [["M5 21L17 7l1.500 1.500L6.500 22.500z", "b"], ["M15 3c3-1 6 1 6 4s-3 4-5 3-3-6-1-7z", "a"], ["M17 5.500a1.500 1.500 0 1 0 .1 0z", "w"]],
  wand: [["M4 20L15 9l1.500 1.500-11 11z", "b"], ["M16 3l1.500 3.500L21 8l-3.500 1.500L16 13l-1.500-3.500L11 8l3.500-1.500z", "a"]],
  sword: [["M20 3l1 1-1 4L10 18l-3-3L17 5z", "a"], ["M6 13l5 5-1.500 1.500-5-5z", "g"], ["M3 19l3-3 2 2-3 3z", "d"]],
  scimitar: [["M20 2c1 6-3 12-9 15l-3-3C14 11 17 7 20 2z", "a"], ["M6 13l5 5-1.500 1.500-5-5z", "g"], ["M3 19l3-3 2 2-3 3z", "d"]],
  godsword: [["M19 2l3 3-2 5-8 8-6-6 8-8z", "a"], ["M4 11l9 9-2 2-3-3-5-1 0-4z", "g"], ["M1.500 20L5 16.500 7.500 19 4 22.500z", "d"]],
  dagger: [["M18 5l1 1-1 4-7 7-3-3 7-7z", "a"], ["M7 12l5 5-1.500 1.500-5-5z", "g"], ["M4 18l2.500-2.500 2 2L6 20z", "d"]],
  claws: [["M4 3c5 3 8 8 9 14l-2 1C8 13 5 9 2 6zM11 2c4 3 7 8 8 13l-2 1C15 11 12 7 8 4z", "a"], ["M17 3c3 3 5 7 5 11l-2 1c-1-4-3-8-6-10z", "a"], ["M9 18l10-4 2 4-9 4z", "d"]],
  whip: [["M4 21l4-4 2 2-4 4z", "d"], ["M8 17C4 10 8 3 14 4s6 9 1 9-4-5-1-5l.5 2c-1.500 0-1.500 1.500.5 1.500 2.500 0 2.500-5.500-1.500-6S6 10 10 16z", "a"]],
  maul: [["M4 20L13 11l2 2-9 9z", "d"], ["M11 5l8-3 4 8-5 5-9-6z", "a"], ["M13 6l5-2 2 5-3 3z", "b"]],
  axe: [["M5 22L17 5l2 1.500L7 23z", "d"], ["M15 2c5-1 8 3 7 9-3-2-6-3-9-3zM12 4C7 3 4 7 5 12c3-1 5-2 8-2z", "a"]],
  crossbow: [["M4 21L15 10l2 2L6 22z", "d"], ["M9 3c6-1 12 5 12 12l-2 .5C19 9 15 5 8.500 5z", "a"], ["M8 4l13 12-.7.700L7.300 4.700z", "b"]],
  bow: [["M6 2c9 2 15 8 16 16l-2 0C19 11 13 6 6 4z", "a"], ["M6 3l15 15-.7.700L5.300 3.700z", "w"], ["M4 20L18 6l1 1L5 21z", "b"]],
  knife: [["M20 4L10 14l2 2L21 8z", "a"], ["M9 13l2.500 2.500L6 21l-3-3z", "d"]],
  javelin: [["M3 21L16 8l1 1L4 22z", "d"], ["M22 2l-2 7-5-5z", "a"]],
  hat: [["M12 2l6 14H6z", "a"], ["M3 16h18v3H3z", "b"]],
  hood: [["M12 3c6 0 8 5 8 10v7h-4c0-6-1-9-4-9s-4 3-4 9H4v-7C4 8 6 3 12 3z", "a"], ["M9 12h6v5H9z", "d"]],
  helm: [["M12 3c6 0 8 4 8 9v8h-5v-6h-6v6H4v-8c0-5 2-9 8-9z", "a"], ["M11 3h2v11h-2z", "b"], ["M7 11h10v2H7z", "d"]],
  halo: [["M12 6c5 0 9 2 9 4.500S17 15 12 15s-9-2-9-4.500S7 6 12 6zm0 2.500c-3.500 0-6.500 1-6.500 2s3 2 6.500 2 6.500-1 6.500-2-3-2-6.500-2z", "a"]],
  cape: [["M8 3h8l4 17-4-2-4 3-4-3-4 2z", "a"], ["M8 3h8l.5 3h-9z", "g"]],
  amulet: [["M5 3c0 6 3 10 7 10s7-4 7-10h-1.500c0 5-2 8.500-5.500 8.500S6.500 8 6.500 3z", "g"], ["M12 12l4 5-4 5-4-5z", "a"]],
  body: [["M8 3h8l5 4-2 4-2-1v11H7V10l-2 1-2-4z", "a"], ["M10 3h4l-2 4z", "d"], ["M7 17h10v2H7z", "b"]],
  robe: [["M8 3h8l5 5-2 3-2-1 2 11H5l2-11-2 1-2-3z", "a"], ["M11 3h2v18h-2z", "b"]],
  legs: [["M6 3h12l1 18h-5l-2-12-2 12H5z", "a"], ["M6 3h12v3H6z", "b"]],
  skirt: [["M8 3h8l4 18H4z", "a"], ["M8 3h8l.7 3H7.300z", "b"]],
  shield: [["M12 2l8 3v7c0 5-4 8-8 10-4-2-8-5-8-10V5z", "a"], ["M12 5v14c-3-2-5-4-5-7V7z", "b"]],
  book: [["M4 4h14l2 2v15H6l-2-2z", "a"], ["M7 7h9v2H7zM7 11h9v2H7z", "w"]],
  gloves: [["M8 3h9v9l-1 9H7l-3-8 2-2 2 2z", "a"], ["M8 3h9v4H8z", "b"]],
  boots: [["M8 3h7v10l6 4v4H6V13z", "a"], ["M6 18h15v3H6z", "d"]],
  ring: [["M12 7a7 7 0 1 0 .1 0zm0 3a4 4 0 1 1-.1 0z", "g"], ["M9 3h6l1 4-4 2-4-2z", "a"]],
  bolts: [["M4 18L15 7l2 2L6 20zM9 21L19 11l1.500 1.500L10.500 22.500z", "d"], ["M14 4l6 0 0 6zM18 9l4 0 0 4z", "a"]],
  shark: [["M2 13c4-5 10-6 15-3l5-4-1 6 1 5-5-3c-5 4-11 3-15-1z", "a"], ["M9 8l4-5 2 6z", "a"], ["M5 13c3 2 7 3 10 1", "w"], ["M6 11.500a1 1 0 1 0 .1 0z", "d"]],
  angler: [["M3 13c3-6 11-7 15-2l4-3v9l-4-3c-4 5-12 4-15-1z", "a"], ["M8 8c0-4 4-5 6-3l-.7 1c-2-1-4 0-4 2z", "b"], ["M14.500 5a1.500 1.500 0 1 0 .1 0z", "g"], ["M7 11.500a1 1 0 1 0 .1 0z", "d"]],
  karambwan: [["M12 3c5 0 7 4 6 8l3 7-4-2 0 5-3-4-2 4-2-4-3 4 0-5-4 2 3-7c-1-4 1-8 6-8z", "a"], ["M9.500 8a1.300 1.300 0 1 0 .1 0zM14.500 8a1.300 1.300 0 1 0 .1 0z", "d"]],
  potion: [["M9 2h6v5l4 8c1 4-1 7-4 7H9c-3 0-5-3-4-7l4-8z", "glass"], ["M6.500 14h11l.8 2c.7 3-.8 4.500-3.300 4.500H9c-2.500 0-4-1.500-3.300-4.500z", "a"], ["M8.500 1.500h7V4h-7z", "d"]],
  pouch: [["M7 8c-4 3-5 13 5 13s9-10 5-13z", "a"], ["M8 3l4 3 4-3 1 5H7z", "b"], ["M7 8h10v1.500H7z", "g"]],
  rune: [["M12 3l8 5v8l-8 5-8-5V8z", "a"], ["M12 7l4 5-4 5-4-5z", "w"]],
  ice: [["M12 1l1.300 6 4.700-3.500L15.500 9 22 10l-5.700 3L20 18.500 14 16l-2 7-2-7-6 2.500L7.700 13 2 10l6.500-1L6 3.500 10.700 7z", "a"], ["M12 8.500l2.500 3.500-2.500 3.500L9.500 12z", "w"]],
  blood: [["M12 2c4 6 7 9 7 13a7 7 0 0 1-14 0c0-4 3-7 7-13z", "a"], ["M9 13c-1 3 0 5 2 6", "w"]],
  veng: [["M12 2c1 5 6 6 6 12a6 6 0 0 1-12 0c0-3 2-4 2-7 2 1 3 2 3 4 1-3 1-6 1-9z", "a"], ["M12 12c2 2 2.500 4 1.500 6.500h-3C9.500 16 11 15 12 12z", "g"]],
  magic: [["M12 3l2.200 5.800L20 11l-5.800 2.200L12 19l-2.200-5.800L4 11l5.800-2.200z", "a"], ["M18 15l1 2.500 2.500 1-2.500 1-1 2.500-1-2.500-2.500-1 2.500-1z", "w"]],
  missiles: [["M4 20L15 9l1.500 1.500L5.500 21.500z", "d"], ["M13 3h8v8z", "a"], ["M3 17l4 4-5 1z", "w"]],
  melee: [["M20 3l1 1-1 4L10 18l-3-3L17 5z", "a"], ["M6 13l5 5-1.500 1.500-5-5z", "g"], ["M3 19l3-3 2 2-3 3z", "d"]],
  smite: [["M13 2L5 14h5l-2 8 10-13h-6l4-7z", "a"]],
  redemption: [["M12 21C5 15 3 12 3 8.500A4.500 4.500 0 0 1 12 7a4.500 4.500 0 0 1 9 1.500C21 12 19 15 12 21z", "a"], ["M11 9h2v2h2v2h-2v3h-2v-3H9v-2h2z", "w"]],
  under: [["M12 3a3 3 0 1 0 .1 0zM8 10h8l1 6h-3v5h-4v-5H7z", "a"]],
  tank: [["M12 2l9 3v7c0 5-4 8.500-9 10-5-1.500-9-5-9-10V5z", "a"], ["M11 6h2v5h5v2h-5v6h-2v-6H6v-2h5z", "w"]],
  other: [["M5 5h14v14H5z", "a"]],
};

// First word that the name contains decides: [shape, main, second].
const KINDS = [
  [/^shark/, "shark", "#8a98a8"], [/anglerfish/, "angler", "#6f8f6a", "#d8c36a"], [/karambwan/, "karambwan", "#c2724f"],
  [/saradomin_brew/, "potion", "#f0d65c"], [/super_restore/, "potion", "#e07ab0"], [/super_combat/, "potion", "#3f9a4a"],
  [/ranging_potion/, "potion", "#5fb8e8"], [/empty_vial/, "potion", "#0000"], [/rune_pouch/, "pouch", "#8d5a34", "#6e4526"],
  [/_rune$/, "rune", "#7d86b8"],
  [/kodai|wand/, "wand", "#b06be0", "#5c4a7a"], [/volatile/, "staff", "#ff7a3c", "#5a5148"], [/staff_of_light/, "staff", "#f5e9a0", "#8d8d8d"],
  [/toxic|of_the_dead/, "staff", "#7fd15a", "#5a4d3c"], [/staff/, "staff", "#5aa0e8", "#6b5334"],
  [/armadyl_godsword/, "godsword", "#f2f2ea"], [/godsword/, "godsword", "#b8a4d8"], [/claws/, "claws", "#d0453a"],
  [/dagger/, "dagger", "#d0453a"], [/scimitar/, "scimitar", "#d0453a"], [/whip/, "whip", "#b03a3a"], [/tentacle/, "whip", "#3a8a9a"],
  [/rapier/, "sword", "#c8a0b0"], [/longsword/, "sword", "#9ad0c0"], [/elder_maul/, "maul", "#8a7a5a", "#6a5a3a"],
  [/warhammer/, "maul", "#c8b060", "#8a7a40"], [/maul/, "maul", "#8d8d95", "#6d6d75"], [/greataxe/, "axe", "#a8a090"],
  [/zaryte/, "crossbow", "#8a6ad0", "#d0c0f0"], [/crossbow/, "crossbow", "#b0a080", "#e0d8c0"], [/ballista/, "crossbow", "#9a7a4a", "#d8c8a0"],
  [/dark_bow/, "bow", "#5a4a6a", "#7a6a4a"], [/knife/, "knife", "#d0453a"], [/morrigans|javelin/, "javelin", "#b89a5a"],
  [/bolts|_arrow/, "bolts", "#d8d0c0"], [/halo/, "halo", "#7fd18a"],
  [/hat$/, "hat", "#4a6ab0", "#c8b060"], [/hood|coif/, "hood", "#6a5a8a"], [/helm|slayer/, "helm", "#8d8478", "#b0a594"],
  [/infernal/, "cape", "#d8612a"], [/fire_cape/, "cape", "#e08a2a"], [/cape/, "cape", "#3f8a4a"],
  [/amulet|necklace/, "amulet", "#c03a4a"], [/ring/, "ring", "#5ab0d0"], [/boots|manacles/, "boots", "#7a6248"],
  [/gloves|bracelet/, "gloves", "#a0522d", "#c8783c"], [/book/, "book", "#7a5a9a"], [/defender/, "shield", "#b0503a", "#8a3a2a"],
  [/shield/, "shield", "#8a9ab0", "#6a7a90"],
  [/chaps|leatherskirt|range_legs/, "legs", "#3d4a36", "#59684e"], [/dhide|leathertop|tunic|range_top/, "body", "#3d4a36", "#59684e"],
  [/chainskirt|tassets|plateskirt|platelegs/, "legs", "#9a9488", "#7a746a"], [/chestplate|platebody/, "body", "#9a9488", "#7a746a"],
  [/robe_bottom|robeskirt|bottoms|_robe$|robe_2/, "skirt", "#5068a8", "#c8b060"], [/robe|top/, "robe", "#5068a8", "#c8b060"],
];
const FIXED = { d: "#3a2f24", w: "#ffffffd0", g: "#e3b341", glass: "#93abb988" };

export const SPELLS = { ice: ["ice", "#7fd4ff"], blood: ["blood", "#d8303a"], veng: ["veng", "#e8552a"] };
export const PRAYERS = {
  magic: ["magic", "#8fc1ff"], missiles: ["missiles", "#9ad36a"], melee: ["melee", "#e6e0d2"],
  smite: ["smite", "#ffd75e"], redemption: ["redemption", "#ff7d8f"],
};

export function shape(name, main = "#b8a888", second = "#8a7a5a") {
  const colours = { a: main, b: second, ...FIXED };
  const parts = (SHAPES[name] ?? SHAPES.other).map(([d, colour]) => svg("path", { d, fill: colours[colour] }));
  return svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, ...parts);
}

export function itemIcon(key) {
  const found = KINDS.find(([pattern]) => pattern.test(key));
  const icon = found ? shape(found[1], found[2], found[3]) : shape("other");
  const dose = /_(\d)$/.exec(key)?.[1];
  if (found?.[1] === "potion" && dose) {
    icon.append(svg("text", { x: 23, y: 23, "text-anchor": "end", class: "dose" }, dose));
  }
  return icon;
}

export const glyph = ([name, colour]) => shape(name, colour);

// For the canvas: the same paths.
export function paths(name, main) {
  const colours = { a: main, b: main, ...FIXED };
  return (SHAPES[name] ?? []).map(([d, colour]) => [new Path2D(d), colours[colour]]);
}
