// Any other game: what it says of itself, and a button for every choice.

import { $, el, title, words } from "./dom.js";

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
    const told = Object.entries(frame.scene).filter(([key]) => key !== "kind");
    this.facts.replaceChildren(...told.flatMap(([key, value]) => [el("dt", {}, words(key)), el("dd", {}, told_as_text(value))]));
    const legal = this.log.isPlaying && this.log.at === this.log.frames.length - 1 ? this.log.newest.legal : null;
    for (const move of this.moves) {
      const button = this.buttons.get(move.id);
      const canBe = legal !== null && this.wishes.isLegal(legal, move);
      button.classList.toggle("legal", canBe);
      button.setAttribute("aria-disabled", String(!canBe));
      button.setAttribute("aria-pressed", String(this.wishes.isChosen(move)));
    }
  }

  draw() { /* nothing moves between frames */ }

  lines() {
    return [];
  }

  marks() {
    return [];
  }
}

const told_as_text = (value) => (Array.isArray(value) && value.every((line) => typeof line === "string") && value.length > 1 ? el("pre", {}, value.join("\n")) : JSON.stringify(value));
