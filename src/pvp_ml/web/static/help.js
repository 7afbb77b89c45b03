// Keys and what they do.

import { el } from "./dom.js";

const GENERAL = [["Space", "pause, play"], ["← →", "one step back, one step on"], ["Home / End", "the beginning, the newest step"], ["Esc", "take back what you chose for this tick"],
  ["F1 F2 F3 F4 F6", "to attacks, inventory, equipment, prayers, spells"], ["Tab, Enter", "everything can be reached and pressed"], ["?", "this page"]];

export function showHelp(dialog, moves, about = "") {
  const rows = (pairs) => pairs.map(([key, text]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)));
  const own = moves.filter((move) => move.key).map((move) => [move.key.toUpperCase(), move.label]);
  dialog.replaceChildren(el("form", { method: "dialog" }, el("h2", { id: "help-title" }, "Keys"),
    about ? el("p", { class: "quiet" }, about) : null,
    el("div", { class: "keys" }, el("dl", {}, rows(own)), el("dl", {}, rows(GENERAL))),
    el("menu", {}, el("button", { type: "submit", class: "primary" }, "Close"))));
  dialog.showModal();
}
