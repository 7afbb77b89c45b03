// The side panel: what you can do now, and what the fighters carry. Only legal moves light up.

import { el, title, words } from "/static/dom.js";
import { glyph, itemIcon, PRAYERS, shape, SPELLS } from "./icons.js";
import { MOVES, PARTS } from "./moves.js";

const SLOTS = ["head", "cape", "amulet", "weapon", "body", "shield", "legs", "hands", "feet", "ring", "ammunition"];

function iconOf(move, fighter) {
  const [kind, name, colour] = (move.icon ?? "").split(":");
  if (kind === "spell") return glyph(SPELLS[name]);
  if (kind === "prayer") return glyph(PRAYERS[name]);
  if (kind === "weapon") return itemIcon(fighter.weapons[name] ?? "other");
  if (kind === "item") return itemIcon(name);
  if (kind === "shape") return shape(name, colour);
  return null;
}

export class Panel {
  constructor(node, log, wishes, press, why) {
    this.why = why; // move → why it cannot be made now
    this.tab = "fight"; // of a small screen, which shows some of the parts at a time
    this.node = node;
    this.log = log;
    this.wishes = wishes;
    this.press = press;
    this.seat = 0;
    this.buttons = new Map();
    this.built = "";
  }

  render() {
    const { log } = this;
    if (!log.frame || log.frame.scene.kind !== "osrs") return;
    const mode = log.isPlaying || (log.facts.human !== null && log.facts.human !== undefined && log.facts.driving) ? "play" : "watch";
    const weapons = JSON.stringify(log.frame.scene.fighters[log.facts.human ?? 0].weapons);
    const key = `${mode}:${log.facts.game}:${log.facts.room ?? "replay"}:${weapons}`;
    if (key !== this.built) {
      this.built = key;
      this.seat = log.facts.human ?? 0;
      this.#build(mode);
    }
    if (mode === "play") this.#light();
    this.#fill();
  }

  #build(mode) {
    this.buttons.clear();
    const parts = mode === "play" ? this.#moveParts() : [this.#tabs()];
    this.inventory = el("div", { class: "inventory", role: "group", "aria-label": "Inventory" });
    this.worn = el("div", { class: "worn", role: "group", "aria-label": "Equipment" });
    const bag = el("section", { class: "part bag", id: "part-inventory", tabindex: "-1" }, el("h2", {}, "Inventory"), this.inventory);
    const gear = el("section", { class: "part gear", id: "part-worn", tabindex: "-1" }, el("h2", {}, "Equipment"), this.worn);
    this.levels = el("dl", { class: "levels" });
    const skills = el("section", { class: "part" }, el("h2", {}, "Levels and timers"), this.levels);
    this.node.replaceChildren(...(mode === "play" ? [this.#pages()] : []), ...parts, el("div", { class: "carried" }, bag, gear), ...(mode === "watch" ? [skills] : []));
    this.node.dataset.mode = mode;
    this.node.dataset.tab = this.tab;
    this.shownBag = null;
  }

  // On a small screen: fight, bag or move, each within reach of a thumb.
  #pages() {
    const page = (name, label) => el("button", { type: "button", "aria-pressed": String(name === this.tab), dataset: { page: name }, onclick: () => this.#turn(name) }, label);
    this.pages = el("div", { class: "pages", role: "group", "aria-label": "What is shown" }, page("fight", "Fight"), page("bag", "Bag"), page("walk", "Move"));
    return this.pages;
  }

  #turn(name) {
    this.tab = this.node.dataset.tab = name;
    for (const button of this.pages.children) button.setAttribute("aria-pressed", String(button.dataset.page === name));
  }

  #moveParts() {
    const moves = MOVES[this.log.facts.game] ?? [];
    const fighter = this.log.frame.scene.fighters[this.log.facts.human];
    return Object.entries(PARTS).map(([part, heading]) => {
      const own = moves.filter((move) => move.part === part);
      if (!own.length || part === "food") return null;
      return el("section", { class: `part ${part}`, id: `part-${part}`, tabindex: "-1" },
        el("h2", {}, heading),
        el("div", { class: "moves", role: "group", "aria-label": heading }, own.map((move) => this.#button(move, fighter))));
    }).filter(Boolean);
  }

  #button(move, fighter) {
    const weapon = move.weapon ? fighter.weapons[move.weapon] : null;
    const button = el("button", {
      type: "button", class: "move", dataset: { move: move.id, title: `${move.label}${weapon ? ` — ${words(weapon)}` : ""} [${move.key.toUpperCase()}]` }, "aria-pressed": "false", "aria-keyshortcuts": move.key,
      onclick: () => this.press(move),
    }, iconOf(move, fighter), el("span", { class: "name" }, move.short ?? move.label), weapon && move.part !== "prayer" ? el("span", { class: "with" }, words(weapon)) : null,
    el("kbd", { "aria-hidden": "true" }, move.key.toUpperCase()));
    this.buttons.set(move.id, [button, move]);
    return button;
  }

  #tabs() {
    const tab = (seat) => el("button", { type: "button", role: "tab", "aria-selected": String(seat === this.seat), dataset: { seat: String(seat) },
      onclick: () => { this.seat = seat; this.shownBag = null; this.render(); } }, this.log.facts.names?.[seat] ?? `Seat ${seat + 1}`);
    this.tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Whose things" }, tab(0), tab(1));
    return this.tabs;
  }

  #light() {
    const { log, wishes } = this;
    const legal = log.isPlaying && log.at === log.frames.length - 1 ? log.newest.legal : null;
    const fighter = log.frame.scene.fighters[log.facts.human];
    for (const [button, move] of this.buttons.values()) {
      const canBe = legal !== null && wishes.isLegal(legal, move);
      button.classList.toggle("legal", canBe);
      button.setAttribute("aria-disabled", String(!canBe));
      const why = canBe || !log.isPlaying ? "" : this.why(move);
      if (button.title !== (why || button.dataset.title)) {
        button.title = why || button.dataset.title;
        if (why) button.setAttribute("aria-description", why);
        else button.removeAttribute("aria-description");
      }
      button.setAttribute("aria-pressed", String(wishes.isChosen(move)));
      button.classList.toggle("on", move.shows !== undefined && move.shows === fighter.overhead);
    }
  }

  // The carried things; in a fight of yours, food, potions and weapons can be clicked.
  #fill() {
    const { log } = this;
    const fighter = log.frame.scene.fighters[this.seat];
    const isMine = this.node.dataset.mode === "play";
    const legal = isMine && log.isPlaying && log.at === log.frames.length - 1 ? log.newest.legal : null;
    this.tabs?.querySelectorAll("[role=tab]").forEach((tab) => tab.setAttribute("aria-selected", String(Number(tab.dataset.seat) === this.seat)));
    const marks = fighter.inventory.map((key) => (isMine && key ? this.#moveOf(key, fighter) : null));
    const lit = marks.map((move) => Boolean(move && legal && this.wishes.isLegal(legal, move)));
    if (!isMine) this.#tell(fighter);
    const state = JSON.stringify([fighter.inventory, fighter.worn, lit, marks.map((move) => move && this.wishes.isChosen(move))]);
    if (state === this.shownBag) return;
    const held = document.activeElement?.dataset?.slot;
    this.shownBag = state;
    this.inventory.replaceChildren(...fighter.inventory.map((key, slot) => this.#cell(key, slot, marks[slot], lit[slot])));
    if (held !== undefined) this.inventory.querySelector(`[data-slot="${held}"]`)?.focus();
    this.worn.replaceChildren(...SLOTS.map((slot) => el("span", { class: `slot ${slot}`, title: fighter.worn[slot] ? title(fighter.worn[slot]) : slot },
      fighter.worn[slot] ? itemIcon(fighter.worn[slot]) : null)));
  }

  #tell(fighter) {
    const levels = Object.entries(fighter.levels).map(([skill, [now, full]]) => [skill, `${now} / ${full}`, now > full ? "up" : now < full ? "down" : ""]);
    const timers = Object.entries(fighter.timers).filter(([, ticks]) => ticks > 0).map(([name, ticks]) => [words(name), String(ticks), "timer"]);
    this.levels.replaceChildren(...[...levels, ...timers].map(([name, text, kind]) => el("div", { class: kind }, el("dt", {}, name), el("dd", {}, text))));
  }

  #cell(key, slot, move, isLit) {
    if (!key) return el("span", { class: "cell" });
    if (!move) return el("span", { class: "cell", title: title(key) }, itemIcon(key));
    return el("button", {
      type: "button", class: `cell${isLit ? " legal" : ""}`, title: isLit ? `${title(key)} [${move.key.toUpperCase()}]` : this.why(move), dataset: { slot: String(slot), item: key },
      "aria-label": `${title(key)}: ${move.label}`, "aria-disabled": String(!isLit), "aria-pressed": String(this.wishes.isChosen(move)), onclick: () => this.press(move),
    }, itemIcon(key));
  }

  #moveOf(key, fighter) {
    const moves = MOVES[this.log.facts.game] ?? [];
    const food = moves.find((move) => move.items?.test(key));
    if (food) return food;
    if (moves.some((move) => move.item === key)) return moves.find((move) => move.item === key);
    const set = ["mage", "ranged", "melee", "spec"].find((name) => fighter.weapons[name] === key);
    return moves.find((move) => move.id === { mage: "ice", ranged: "range", melee: "melee", spec: "melee-spec" }[set]) ?? null;
  }
}
