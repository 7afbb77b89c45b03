// The field: two places a side, who waits behind them, the sky above them, and the log in words.

import { el } from "/static/dom.js";
import { capital, health, healthBar, percent, stat, STATUS, token, turns, typeChip } from "./words.js";

const BOOSTERS = { protosynthesis: "Protosynthesis", quarkdrive: "Quark Drive" };
const chip = (kind, text, title = "") => el("span", { class: `chip ${kind}`, title }, text);

function card(mon, change) {
  const status = STATUS[mon.status];
  const boosts = Object.entries(mon.boosts).map(([id, by]) => chip(by > 0 ? "up" : "down", `${by > 0 ? "+" : "−"}${Math.abs(by)} ${stat(id)}`));
  return el("article", { class: `mon${mon.fainted ? " fainted" : ""}`, "aria-label": `${mon.name}, ${health(mon)}` },
    el("div", { class: "face" }, token(mon, 72), change ? el("span", { class: `change ${change < 0 ? "hurt" : "healed"}` }, `${change < 0 ? "−" : "+"}${Math.abs(change)} %`) : null),
    el("div", { class: "facts-of" },
      el("p", { class: "line" }, el("strong", {}, mon.name), mon.name !== mon.species ? el("small", {}, mon.species) : null, status ? chip(`status ${mon.status}`, status[0], status[1]) : null),
      el("p", { class: "line" }, healthBar(mon), el("span", { class: "points" }, health(mon))),
      el("p", { class: "line small" }, mon.types.map(typeChip), mon.terastallized ? chip("tera", "Tera") : null,
        mon.item ? chip("item", mon.item, "item") : mon.item === null ? chip("unknown", "item ?", "its item has not been seen") : null, mon.ability ? chip("ability", mon.ability, "ability") : null, boosts, mon.effects.map((name) => chip("effect", name)))));
}

// A small token in the row of those who wait.
function waiting(mon) {
  const isUnsure = mon.brought === null;
  const words = `${mon.name}: ${isUnsure ? "not seen yet" : mon.brought === false ? "stayed at home" : health(mon)}`;
  return el("li", { class: isUnsure ? "unsure" : mon.brought === false ? "home" : "", title: words }, el("span", { role: "img", "aria-label": words }, token(mon, 34)), mon.brought === true && !mon.fainted ? healthBar(mon) : null);
}

export class Field {
  constructor(node, log) {
    this.log = log;
    this.sky = el("div", { class: "sky" });
    this.far = el("section", { class: "side far" });
    this.near = el("section", { class: "side near" });
    this.lines = el("ol", {});
    this.story = el("div", { class: "story", "aria-label": "What happened", role: "log", tabindex: "0" }, this.lines);
    this.ground = el("div", { class: "ground" }, this.sky, this.far, this.near);
    this.shown = -1;
    node.replaceChildren(el("div", { class: "battle" }, this.ground, this.story));
  }

  // The seat at the bottom.
  get mine() {
    return this.log.facts.human ?? 0;
  }

  render() {
    const { frame } = this.log;
    if (!frame) return;
    const { scene } = frame;
    if (scene.lost) {
      this.sky.replaceChildren(chip("weather", `The battle was lost: ${scene.lost}`));
      return;
    }
    const before = this.log.moves ? this.log.frames[this.log.at - 1]?.scene : null;
    this.#sky(scene);
    this.#side(this.near, scene, this.mine, before);
    this.#side(this.far, scene, 1 - this.mine, before);
    this.#tell();
  }

  #sky(scene) {
    this.ground.dataset.weather = scene.sky.find((one) => !one.id.endsWith("terrain") && !one.id.endsWith("room"))?.id ?? "";
    this.ground.dataset.terrain = scene.sky.find((one) => one.id.endsWith("terrain"))?.id ?? "";
    const format = el("span", { class: "format" }, `${scene.title} · ${scene.sheets} sheets`);
    this.sky.replaceChildren(el("strong", {}, scene.turn ? `Turn ${scene.turn}` : "Team preview"), ...scene.sky.map((one) => chip(`weather ${one.id}`, [one.name, turns(one.left)].filter(Boolean).join(" · "))), format);
  }

  #side(node, scene, seat, before) {
    const side = scene.sides[seat];
    const who = this.log.facts.names?.[seat] ?? `Seat ${seat + 1}`;
    const out = [0, 1].slice(0, scene.places).map((place) => side.mons.find((mon) => mon.slot === place) ?? null);
    const rest = side.mons.filter((mon) => !out.includes(mon));
    const conditions = side.conditions.map((one) => chip("condition", [one.name, one.layers > 1 ? `×${one.layers}` : "", turns(one.left)].filter(Boolean).join(" ")));
    const places = scene.turn ? out.map((mon) => (mon ? card(mon, changed(mon, before?.sides[seat])) : el("article", { class: "mon empty" }, "empty")))
      : side.mons.map((mon) => el("article", { class: "mon at-preview", "aria-label": mon.name }, token(mon, 52), el("strong", {}, mon.species), el("span", { class: "line small" }, mon.types.map(typeChip))));
    node.dataset.seat = String(seat);
    node.classList.toggle("preview", !scene.turn);
    node.replaceChildren(
      el("header", {}, el("strong", { class: "who" }, who), scene.turn ? el("ul", { class: "bench", "aria-label": `${who}: the others` }, rest.map(waiting)) : null, side.gimmickUsed ? chip("used", "Tera or Mega used") : null, conditions),
      el("div", { class: "places" }, places));
  }

  // All sentences up to the shown step; only new ones are added during the battle.
  #tell() {
    const { log } = this;
    if (log.at < this.shown || !log.moves || log.at > this.shown + 1) {
      this.lines.replaceChildren();
      this.shown = -1;
    }
    for (; this.shown < log.at; ) {
      this.shown += 1;
      for (const line of log.frames[this.shown]?.scene.log ?? []) this.lines.append(this.#line(line));
    }
    this.story.scrollTop = this.story.scrollHeight;
  }

  #line(text) {
    const isTurn = /^Turn \d+$/.test(text);
    const depth = text.startsWith("  ") ? "detail" : "";
    return el("li", { class: isTurn ? "turn" : depth }, ...sentence(text.trim(), this.log.facts));
  }
}

// "Incineroar (seat 2) faints" as its reader would say it. Names are data: whatever they hold stays text.
export function sentence(text, { human, names = [] }) {
  const isMe = (number) => human === Number(number) - 1;
  const name = (number) => names[Number(number) - 1] ?? `Seat ${number}`;
  const [, number, verb, rest] = /^Seat ([12]) (sends out|gets|loses|wins)(.*)$/.exec(text) ?? [];
  if (number) return isMe(number) ? [`You ${{ "sends out": "send out", gets: "get", loses: "lose", wins: "win" }[verb]}${rest}`] : [`${name(number)} ${verb}${rest}`];
  const pieces = text.replace(/\b(protosynthesis|quarkdrive)(atk|def|spa|spd|spe)\b/, (_, name, id) => `${BOOSTERS[name]} raises ${stat(id)}`).split(/ \(seat ([12])\)/);
  const found = [];
  for (let i = 0; i < pieces.length; i += 2) {
    const seat = pieces[i + 1];
    if (seat === undefined) found.push(pieces[i]);
    else found.push(pieces[i], el("span", { class: `of seat${Number(seat) - 1}` }, ` (${human === null || human === undefined ? name(seat) : isMe(seat) ? "yours" : "foe"})`));
  }
  return found.length ? found : [capital(text)];
}

function changed(mon, side) {
  const before = side?.mons.find((one) => one.species === mon.species && one.brought === true);
  return before ? Math.round((mon.hp - before.hp) * 100) : 0;
}

export const shareLeft = (side, isOver, brought) => {
  const seen = side.mons.filter((mon) => mon.brought === true);
  const all = seen.reduce((sum, mon) => sum + mon.hp, 0);
  return (all + (isOver ? 0 : Math.max(0, brought - seen.length))) / brought;
};

export const inWords = (scene, mine) => {
  if (scene.lost) return "The battle was lost.";
  const tell = (side) => side.mons.filter((mon) => mon.slot >= 0).map((mon) => `${mon.name} at ${percent(mon.hp)}`).join(" and ") || "nobody";
  return scene.turn ? `Turn ${scene.turn}. Near side: ${tell(scene.sides[mine])}. Far side: ${tell(scene.sides[1 - mine])}.` : "Team preview.";
};
