// What you do this turn, place by place: a move and its target, a switch; before the battle, which four come along.

import { el } from "/static/dom.js";
import { Legality } from "/static/legality.js";
import { gimmick, health, healthBar, token, typeChip, capital } from "./words.js";

const [SWITCH, PASS] = [40, 46];
const NO_TARGET = 2;
const PLACES = ["left", "right"];
const COUNT = { 3: "three", 4: "four" };

export class Choices {
  constructor(node, log, wishes, press, heads) {
    this.log = log;
    this.wishes = wishes;
    this.press = press;
    this.heads = heads;
    this.legality = new Legality(heads);
    this.asks = el("div", { class: "asks", "aria-live": "polite" });
    this.sheets = el("details", { class: "sheets" }, el("summary", {}, "Team sheets"), el("div", {}));
    node.replaceChildren(this.asks, this.sheets);
    this.#begin(-1);
  }

  #begin(step) {
    this.step = step;
    this.made = []; // choices of the places so far
    this.move = null; // a move that still needs its target
    this.withGimmick = false;
    this.four = []; // rows chosen at team preview, leads first
    this.shown = "";
  }

  get #legal() {
    const { log } = this;
    return log.isPlaying && log.at === log.frames.length - 1 ? log.newest.legal : null;
  }

  get #own() {
    return this.log.frame.scene.sides[this.log.facts.human];
  }

  // Rebuilt only when something changed, so that the keyboard's place is kept.
  render() {
    const { log } = this;
    const { frame } = log;
    if (!frame || frame.scene.lost) return this.asks.replaceChildren();
    if (log.newest.step !== this.step) this.#begin(log.newest.step);
    const legal = this.#legal;
    const key = JSON.stringify([frame.step, legal !== null, this.made, this.move, this.withGimmick, this.four, this.wishes.picks.length, log.isOver]);
    if (key === this.shown) return;
    const hadFocus = this.asks.contains(document.activeElement);
    this.shown = key;
    this.asks.replaceChildren(...this.#ask(legal));
    this.#sheets();
    if (!log.isPlaying && this.opened !== log.facts) this.sheets.open = true; // spectators have nothing else here
    this.opened = log.facts;
    if (hadFocus) this.asks.querySelector("button:not(:disabled)")?.focus();
  }

  #ask(legal) {
    const { log } = this;
    if (!log.isPlaying) return log.isLive ? [el("p", { class: "quiet" }, "You're spectating.")] : [];
    if (log.at !== log.frames.length - 1) return [el("p", { class: "quiet" }, "This is an earlier step. Press End or Live to go back to now.")];
    if (legal === null || this.wishes.picks.length) return [el("p", { class: "quiet waiting" }, "Waiting for your opponent…")];
    return this.#own.asked.kind === "preview" ? this.#preview() : this.#place(legal);
  }

  // Team preview --------------------------------------------------------------------------------------------------------

  #preview() {
    const { mons } = this.#own;
    const [leads, all] = this.#sizes();
    const role = (row) => (this.four.includes(row) ? (this.four.indexOf(row) < leads ? "Lead" : "Back") : "");
    const buttons = mons.map((mon, row) => el("button", { type: "button", class: "pick", "aria-pressed": String(this.four.includes(row)), dataset: { row: String(row) }, onclick: () => this.#bring(row) },
      token(mon, 44), el("span", { class: "name" }, mon.species), el("span", { class: "small" }, [mon.item, mon.ability].filter(Boolean).join(" · ")), el("span", { class: "role" }, role(row))));
    const left = all - this.four.length;
    const what = leads === 1 ? `Choose ${COUNT[all]}: your lead first` : `Choose ${COUNT[all]}: your two leads first`;
    return [el("h2", {}, what), el("div", { class: "picks" }, buttons),
      el("button", { type: "button", class: "primary go", disabled: left > 0, onclick: () => this.#start() }, left ? `Choose ${left} more` : "Start the battle")];
  }

  #bring(row) {
    if (this.four.includes(row)) this.four = this.four.filter((one) => one !== row);
    else if (this.four.length < this.#sizes()[1]) this.four = [...this.four, row];
    this.render();
  }

  // How many lead, and how many come along.
  #sizes() {
    const [leads, waits] = Object.keys(this.#own.asked.lineups)[0].split("/");
    return [leads.length, leads.length + waits.length];
  }

  #start() {
    const rows = this.four.map((row) => row + 1);
    const [leads] = this.#sizes();
    const lineup = [rows.slice(0, leads), rows.slice(leads)].map((part) => part.sort().join("")).join("/");
    this.press({ id: "preview", group: "turn", label: "This team", picks: [["preview", this.#own.asked.lineups[lineup]], ["left", "pass"], ["right", "pass"]] });
  }

  // A turn, or replacements for the fallen ---------------------------------------------------------------------------------

  // Choices of a place that go with those before it.
  #open(legal, place) {
    const head = this.heads[place + 1];
    const picks = new Map([["preview", "none"], ...this.made.map((choice, i) => [PLACES[i], this.heads[i + 1].choices[choice]])]);
    return new Set(head.choices.map((_, choice) => choice).filter((choice) => legal[this.legality.offset[place + 1] + choice] === "1"
      && (place === 0 || this.legality.allows(legal, new Map([...picks, [PLACES[1], head.choices[choice]]])))));
  }

  #place(legal) {
    const place = this.made.length;
    const open = this.#open(legal, place);
    if (open.size === 1 && open.has(PASS)) {
      this.made = [...this.made, PASS];
      if (this.made.length === 2) this.#send();
      return this.made.length === 2 ? [el("p", { class: "quiet" }, "…")] : this.#place(legal);
    }
    const { mons, asked } = this.#own;
    const mon = mons.find((one) => one.slot === place) ?? null;
    const title = asked.kind === "turn" ? `What will ${mon?.name ?? "it"} do?` : asked.reviving ? "Revive which Pokémon?" : "Send in which Pokémon?";
    const where = el("span", { class: "small" }, place ? "right slot" : "left slot");
    const back = this.move !== null || this.made.some((choice) => choice !== PASS) ? el("button", { type: "button", class: "back", onclick: () => this.#back() }, "Back") : null;
    const parts = this.move !== null ? this.#targets(open, mon) : [...(asked.kind === "turn" ? this.#moves(open, asked.places[place], mon) : []), ...this.#switches(open, mons, asked.kind)];
    return [el("header", { class: "asking" }, el("h2", {}, title), where, back), ...parts];
  }

  #moves(open, { moves, gimmick: kind }, mon) {
    const table = this.log.frame.scene.moves;
    const canUse = kind && [...open].some((choice) => choice < SWITCH && choice % 10 >= 5);
    const plus = this.withGimmick && canUse ? 5 : 0;
    const buttons = moves.map((move, m) => {
      if (!move) return null;
      const [name, type, category, power, accuracy] = table[move.id];
      const targets = [0, 1, 2, 3, 4].map((target) => 10 * m + plus + target).filter((choice) => open.has(choice));
      const about = [category === "Status" ? "Status" : `${category} ${power || "—"}`, accuracy ? `${accuracy} %` : ""].filter(Boolean).join(" · ");
      const why = move.disabled ? (move.pp[0] ? "can't be used now" : "no PP left") : "";
      const button = el("button", { type: "button", class: "attack", disabled: !targets.length, title: why, dataset: { move: move.id }, onclick: () => this.#choose(targets, 10 * m + plus) },
        el("span", { class: "name" }, name), typeChip(type.toLowerCase()), el("span", { class: "small" }, why || about), el("span", { class: "small pp" }, `PP ${move.pp[0]}/${move.pp[1]}`));
      return button;
    });
    const toggle = canUse ? el("button", { type: "button", class: "gimmick", "aria-pressed": String(this.withGimmick), onclick: () => { this.withGimmick = !this.withGimmick; this.render(); } }, gimmick(kind, mon)) : null;
    return [el("div", { class: "attacks" }, buttons), toggle];
  }

  #switches(open, mons, kind) {
    const rows = mons.map((mon, row) => [mon, row]).filter(([, row]) => open.has(SWITCH + row));
    const pass = open.has(PASS) && kind === "switch" ? el("button", { type: "button", class: "pick", onclick: () => this.#make(PASS) }, el("span", { class: "name" }, "Nobody")) : null;
    if (!rows.length && !pass) return [];
    return [el("h3", {}, kind === "turn" ? "Or switch to" : "From the bench"), el("div", { class: "picks" }, rows.map(([mon, row]) => el("button", { type: "button", class: "pick", dataset: { switch: String(row) }, onclick: () => this.#make(SWITCH + row) },
      token(mon, 40), el("span", { class: "name" }, mon.species), healthBar(mon), el("span", { class: "small" }, health(mon)))), pass)];
  }

  #choose(targets, base) {
    if (targets.length === 1) return this.#make(targets[0]);
    this.move = base;
    this.render();
  }

  // Foes above, allies below, as on the field.
  #targets(open, mon) {
    const { sides } = this.log.frame.scene;
    const { human } = this.log.facts;
    const at = (seat, place) => sides[seat].mons.find((one) => one.slot === place) ?? null;
    const spots = [[3, 1 - human, 0], [4, 1 - human, 1], [1, human, 0], [0, human, 1]].filter(([target]) => open.has(this.move + target));
    const isSomebody = spots.some(([, seat, place]) => at(seat, place));
    const buttons = spots.map(([target, seat, place]) => {
      const aim = at(seat, place);
      return el("button", { type: "button", class: `pick ${seat === human ? "ally" : "foe"}`, disabled: isSomebody && !aim, dataset: { target: String(target) }, onclick: () => this.#make(this.move + target) },
        aim ? token(aim, 40) : null, el("span", { class: "name" }, aim?.name ?? "empty slot"), aim ? healthBar(aim) : null, el("span", { class: "small" }, aim === mon ? "itself" : seat === human ? "your ally" : "foe"));
    });
    return [el("h3", {}, "Choose a target"), el("div", { class: "picks two" }, buttons)];
  }

  // A token on the field was touched while a target is asked for.
  aim(seat, place) {
    const target = seat === this.log.facts.human ? (place ? 0 : 1) : place ? 4 : 3;
    if (this.move !== null) this.asks.querySelector(`[data-target="${target}"]`)?.click();
  }

  #make(choice) {
    this.made = [...this.made, choice];
    this.move = null;
    this.withGimmick = false;
    if (this.made.length === 2) this.#send();
    this.render();
  }

  #back() {
    if (this.move !== null) this.move = null;
    else do this.made = this.made.slice(0, -1); while (this.made.at(-1) === PASS);
    this.render();
  }

  #send() {
    const picks = [["preview", "none"], ...this.made.map((choice, i) => [PLACES[i], this.heads[i + 1].choices[choice]])];
    this.made = [];
    this.press({ id: "turn", group: "turn", label: "This turn", picks });
  }

  // A key chooses the n-th button that is lit.
  key(n) {
    [...this.asks.querySelectorAll("button:not(:disabled, .back)")][n]?.click();
  }

  takeBack() {
    this.asks.querySelector(".back")?.click();
  }

  // Team sheets ---------------------------------------------------------------------------------------------------------------

  #sheets() {
    const { frame, facts } = this.log;
    const mine = facts.human ?? 0;
    const line = (mon) => el("li", {}, token(mon, 32), el("div", {}, el("p", {}, el("strong", {}, mon.species), " ", el("span", { class: "small" }, [mon.item === null ? "item ?" : mon.item || "no item", mon.ability ?? "ability ?", mon.tera ? `Tera ${capital(mon.tera)}` : ""].filter(Boolean).join(" · "))),
      el("p", { class: "small" }, mon.moves.map(([id]) => frame.scene.moves[id][0]).join(", ") || "no moves seen yet")));
    this.sheets.lastChild.replaceChildren(...[mine, 1 - mine].flatMap((seat) => [el("h3", {}, facts.names?.[seat] ?? `Seat ${seat + 1}`), el("ul", {}, frame.scene.sides[seat].mons.map(line))]));
  }
}

// What a choice of a seat meant at a step, for the agent's head; '' for what nobody needs to read.
export function saysChoice(head, choice, side, foes, moves) {
  if (head === "preview") {
    if (!choice || side.asked.kind !== "preview") return "";
    return null;
  }
  if (choice === PASS) return side.asked.kind === "preview" ? "" : "pass";
  if (choice >= SWITCH) return `switch to ${side.asked.bench[choice - SWITCH] || "somebody unseen"}`;
  const place = side.asked.places[head === "left" ? 0 : 1];
  const move = place?.moves[Math.floor(choice / 10)];
  const target = choice % 5;
  const [team, spot] = target > NO_TARGET ? [foes, target - 3] : [side, 1 - target];
  const aim = target === NO_TARGET ? "" : ` → ${team.mons.find((mon) => mon.slot === spot)?.species ?? "empty slot"}`;
  return `${move ? moves[move.id][0] : "an unseen move"}${aim}${choice % 10 >= 5 ? " + Tera or Mega" : ""}`;
}
