// Names, colours and short words of a battle.

import { el, svg } from "/static/dom.js";

// Dark enough for white words on them.
export const TYPES = {
  normal: "#6b6b52", fire: "#b84a12", water: "#2f66c4", electric: "#86690a", grass: "#3a7a24", ice: "#257486", fighting: "#a82a24",
  poison: "#863a8c", ground: "#86601e", flying: "#5b57c8", psychic: "#bd2b5b", bug: "#5f6d04", rock: "#76651e", ghost: "#5d4a86",
  dragon: "#5a35d8", dark: "#55453a", steel: "#5a5c78", fairy: "#ab3d75", stellar: "#2c7573",
};
export const STATUS = { brn: ["BRN", "burned"], par: ["PAR", "paralysed"], psn: ["PSN", "poisoned"], tox: ["TOX", "badly poisoned"], slp: ["SLP", "asleep"], frz: ["FRZ", "frozen"] };
const STATS = { atk: "Atk", def: "Def", spa: "SpA", spd: "SpD", spe: "Spe", accuracy: "Acc", evasion: "Eva" };
const GIMMICKS = { terastallize: "Terastallize", mega: "Mega evolve", megax: "Mega evolve X", megay: "Mega evolve Y" };

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
export const colour = (type) => TYPES[type] ?? "#5c5c5c";
export const stat = (id) => STATS[id] ?? id;
export const percent = (share) => `${share > 0 ? Math.max(1, Math.round(share * 100)) : 0} %`;
export const gimmick = (id, mon) => (id === "terastallize" && mon?.tera ? `Terastallize: ${capital(mon.tera)}` : GIMMICKS[id] ?? "");

export function turns(left) {
  if (!left) return "";
  const [few, many] = left;
  return few === many ? `${few} ${few === 1 ? "turn" : "turns"}` : `${few} or ${many} turns`;
}

// Two or three letters that tell a Pokémon from its team mates: "Iron Hands" is IH, "Calyrex-Ice" is CI, "Rillaboom" is Ri.
export function initials(species) {
  const parts = species.split(/[\s-]+/).filter(Boolean);
  return parts.length > 1 ? parts.slice(0, 2).map((part) => part.charAt(0).toUpperCase()).join("") : species.slice(0, 2);
}

export const typeChip = (type) => {
  const chip = el("span", { class: "type" }, capital(type));
  chip.style.backgroundColor = colour(type);
  return chip;
};

// A token of our own: a disc in the colours of its types; terastallised, a gem around it.
export function token(mon, size = 64) {
  const [first, second = first] = mon.types.map(colour);
  const gem = mon.terastallized ? svg("path", { d: "M50 1 L93 25 V75 L50 99 L7 75 V25 Z", class: "gem", fill: colour(mon.tera) }) : null;
  return svg("svg", { viewBox: "0 0 100 100", width: size, height: size, class: `token${mon.fainted ? " fainted" : ""}`, "aria-hidden": "true" }, gem,
    svg("circle", { cx: 50, cy: 50, r: 40, fill: first }),
    svg("path", { d: "M78.3 21.7 A40 40 0 0 1 21.7 78.3 Z", fill: second }),
    svg("circle", { cx: 50, cy: 50, r: 40, class: "rim" }),
    svg("ellipse", { cx: 40, cy: 28, rx: 20, ry: 9, class: "shine", transform: "rotate(-24 40 28)" }),
    svg("text", { x: 50, y: 62, class: "letters" }, initials(mon.species)),
    mon.mega ? svg("path", { d: "M50 2 l5 9 -5 9 -5 -9 z", class: "mega" }) : null);
}

export function healthBar(mon) {
  const fill = el("span", { class: `fill ${mon.hp > 0.5 ? "high" : mon.hp > 0.2 ? "half" : "low"}` });
  fill.style.width = `${mon.hp * 100}%`;
  return el("span", { class: "health", role: "img", "aria-label": `${percent(mon.hp)} of its hitpoints` }, fill);
}

export const health = (mon) => (mon.fainted ? "fainted" : mon.points ? `${mon.points[0]} / ${mon.points[1]}` : percent(mon.hp));
