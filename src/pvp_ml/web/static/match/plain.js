// Any other game: what it says of itself in words, and a button for every choice.

import { $, el, title, words } from "../dom.js";

const HIDDEN = new Set(["kind", "serial", "step", "hidden"]); // bookkeeping that says nothing about the match

export class PlainView {
  constructor(game, log, wishes, press, heads) {
    this.log = log;
    this.wishes = wishes;
    this.press = press;
    const keys = "123456789qwertyuiopasdfghjklzxcvbnm";
    let next = 0;
    this.heads = heads;
    this.moves = heads.flatMap((head) => head.choices.map((choice) => ({
      id: `${head.name}:${choice}`, group: head.name, label: title(choice), key: keys[next++] ?? "", picks: [[head.name, choice]],
    })));
    this.facts = el("dl", { class: "facts" });
    $("scene").replaceChildren(this.facts);
    $("cards").replaceChildren();
    this.buttons = new Map(this.moves.map((move) => [move.id, el("button", {
      type: "button", class: "move", dataset: { move: move.id }, onclick: () => this.press(move) }, el("span", { class: "name" }, move.label), move.key ? el("kbd", {}, move.key.toUpperCase()) : null)]));
    $("panel").replaceChildren(...heads.map((head) => el("section", { class: "part" }, el("h2", {}, title(head.name)),
      el("div", { class: "moves" }, this.moves.filter((move) => move.group === head.name).map((move) => this.buttons.get(move.id))))));
  }

  render() {
    const frame = this.log.frame;
    if (!frame) return;
    const state = JSON.stringify([frame.scene, this.log.facts.names, frame.result]);
    if (state !== this.shown) {
      this.shown = state;
      this.facts.replaceChildren(...this.#turn(frame), ...Object.entries(frame.scene).filter(([key]) => !HIDDEN.has(key) && key !== "turn").flatMap(([key, value]) => [el("dt", {}, title(key)), el("dd", {}, this.#said(key, value))]));
    }
    const legal = this.log.isPlaying && this.log.at === this.log.frames.length - 1 ? this.log.newest.legal : null;
    for (const move of this.moves) {
      const button = this.buttons.get(move.id);
      const canBe = legal !== null && this.wishes.isLegal(legal, move);
      button.classList.toggle("legal", canBe);
      button.setAttribute("aria-disabled", String(!canBe));
      button.setAttribute("aria-pressed", String(this.wishes.isChosen(move)));
      button.title = canBe || !this.log.isPlaying ? move.label : this.why(move);
    }
  }

  why(move) {
    const { newest } = this.log;
    if (!newest || newest.result) return "The match is over";
    return newest.legal === null ? "It's not your turn" : `${move.label} is not possible now`;
  }

  #name(seat) {
    return this.log.facts.names?.[seat] ?? `Seat ${seat + 1}`;
  }

  #turn(frame) {
    const acting = frame.acting.flatMap((acts, seat) => (acts ? [this.#name(seat)] : []));
    return acting.length ? [el("dt", {}, "To move"), el("dd", { class: "value" }, acting.join(", "))] : [];
  }

  // A value in words. A list with one entry per seat is told by name, null as hidden; a seat's number becomes its name.
  #said(key, value) {
    const seats = this.log.facts.names?.length ?? 0;
    if (value === null) return "hidden";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value === "number") return /^(starter|seat|player|winner|turn)$/.test(key) && Number.isInteger(value) && value < seats ? this.#name(value) : String(Math.round(value * 1000) / 1000);
    if (typeof value === "string") return words(value);
    if (Array.isArray(value)) {
      if (value.length > 2 && value.every((line) => typeof line === "string" && line.length === value[0].length && line.length > 2)) return el("pre", {}, value.join("\n"));
      const isBySeat = value.length === seats && seats > 1;
      return el("span", {}, value.slice(0, 60).map((one, i) => el("span", { class: "pill" }, isBySeat ? `${this.#name(i)}: ` : "", this.#said("", one))));
    }
    return el("span", {}, Object.entries(value).slice(0, 60).map(([name, one]) => el("span", { class: "pill" }, `${words(name)}: `, this.#said(name, one))));
  }

  draw() { /* nothing moves between frames */ }

  lines() {
    return [];
  }

  marks() {
    return [];
  }
}
