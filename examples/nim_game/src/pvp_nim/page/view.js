// Nim on the page: the heap as stones, and a button for each number that may be taken.

import { $, el } from "/static/dom.js";

const TAKES = ["one", "two", "three"];

export default class NimView {
  // log: frames of the match; wishes: what is legal and chosen; press(move): choose it.
  constructor(game, log, wishes, press) {
    this.log = log;
    this.wishes = wishes;
    this.moves = TAKES.map((take, i) => ({ id: take, group: "take", label: `Take ${take}`, key: String(i + 1), picks: [["take", take]] }));
    this.heap = el("p", { class: "heap", role: "img" });
    this.buttons = this.moves.map((move) => el("button", { type: "button", dataset: { move: move.id }, onclick: () => press(move) }, move.label));
    $("scene").replaceChildren(this.heap);
    $("panel").replaceChildren(...this.buttons);
  }

  // Called when something changed.
  render() {
    const frame = this.log.frame;
    if (!frame) return;
    this.heap.textContent = "●".repeat(frame.scene.heap);
    this.heap.setAttribute("aria-label", `${frame.scene.heap} stones`);
    const legal = this.log.isPlaying && this.log.at === this.log.frames.length - 1 ? this.log.newest.legal : null;
    this.moves.forEach((move, i) => { this.buttons[i].disabled = legal === null || !this.wishes.isLegal(legal, move); });
  }

  // Called for every picture the browser paints; nothing moves here.
  draw() {}

  // Lines for the timeline, 0 to 1: how much of the heap is left.
  lines(frame) {
    return [frame.scene.heap / this.log.frames[0].scene.heap];
  }

  // A mark on the timeline for each seat, or null.
  marks() {
    return [];
  }
}
