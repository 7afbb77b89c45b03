// Keys and what they do.

import { el } from "./dom.js";

const GENERAL = [["Space", "pause, play"], ["← →", "one step back, one step on"], ["Home / End", "the beginning, the newest step"], ["Esc", "take back what you chose for this tick"],
  ["F1 F2 F3 F4 F6", "to attacks, inventory, equipment, prayers, spells"], ["Tab, Enter", "everything can be reached and pressed"], ["?", "this page"]];

export function showHelp(dialog, moves) {
  const rows = (pairs) => pairs.map(([key, text]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)));
  const own = moves.filter((move) => move.key).map((move) => [move.key.toUpperCase(), move.label]);
  dialog.replaceChildren(el("form", { method: "dialog" }, el("h2", { id: "help-title" }, "Keys"),
    el("p", { class: "quiet" }, "A fight runs in ticks of 600 ms. What you choose during a tick becomes one action when it ends: an attack, a prayer, food, a potion and a step may go together. Only what is legal lights up; choose again to take it back. Click a tile to move there relative to your opponent."),
    el("div", { class: "keys" }, el("dl", {}, rows(own)), el("dl", {}, rows(GENERAL))),
    el("menu", {}, el("button", { type: "submit", class: "primary" }, "Close"))));
  dialog.showModal();
}
