// Keys and what they do.

import { el } from "../dom.js";

const GENERAL = [["Space", "play or pause"], ["← →", "one step back or forward"], ["Home / End", "first step, latest step"], ["Esc", "clear your choices for this step"],
  ["Tab, Enter", "reach and press everything"], ["?", "this list"]];

// `view` has `moves` (those with a key are listed), and may have `about` and `sections`: [key, id of a part of the panel, its name].
export function showHelp(dialog, { moves, about = "", sections = [] }) {
  const rows = (pairs) => pairs.map(([key, text]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)));
  const own = moves.filter((move) => move.key).map((move) => [move.key.length > 1 ? move.key : move.key.toUpperCase(), move.label]);
  const jumps = sections.map(([key, , name]) => [key, `jump to ${name}`]);
  dialog.replaceChildren(el("form", { method: "dialog" }, el("h2", { id: "help-title" }, "Keys"),
    about ? el("p", { class: "quiet" }, about) : null,
    el("div", { class: "keys" }, own.length ? el("dl", {}, rows(own)) : null, el("dl", {}, rows([...GENERAL, ...jumps]))),
    el("menu", {}, el("button", { type: "submit", class: "primary" }, "Close"))));
  dialog.showModal();
}
