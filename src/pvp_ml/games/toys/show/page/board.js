// A board on which stones drop, such as Connect 4.

import { $, el, svg } from "/static/dom.js";

const COLOURS = ["var(--seat0)", "var(--seat1)"];

export default class BoardView {
  static hasPanel = false; // columns are clicked on the board itself

  constructor(game, log, wishes, press) {
    this.log = log;
    this.wishes = wishes;
    this.moves = [];
    this.press = press;
    this.node = el("div", { class: "board" });
    $("scene").replaceChildren(this.node);
    $("cards").replaceChildren();
    $("panel").replaceChildren();
    this.shown = "";
  }

  render() {
    const frame = this.log.frame;
    if (frame?.scene.kind !== "board") return;
    const { columns, rows, cells, drop } = frame.scene;
    if (this.moves.length !== columns) {
      this.moves = Array.from({ length: columns }, (_, c) => ({ id: `column-${c + 1}`, group: drop, label: `Column ${c + 1}`, key: String(c + 1), picks: [[drop, String(c + 1)]] }));
    }
    const legal = this.log.isPlaying && this.log.at === this.log.frames.length - 1 ? this.log.newest.legal : null;
    const lit = this.moves.map((move) => legal !== null && this.wishes.isLegal(legal, move));
    const state = JSON.stringify([cells, lit, frame.result, this.log.facts.names, this.log.facts.human]);
    if (state === this.shown) return;
    this.shown = state;
    const before = this.log.frames[this.log.at - 1]?.scene.cells ?? cells;
    const line = winningLine(cells, columns, rows);
    const at = (i) => ({ cx: (i % columns) * 10 + 5, cy: (rows - 1 - Math.floor(i / columns)) * 10 + 5, r: 4.1 });
    const holes = [...cells].map((_, i) => svg("circle", { ...at(i), class: "hole" }));
    const discs = [...cells].map((cell, i) => {
      if (cell === ".") return null;
      const isNew = before[i] === ".";
      const disc = svg("circle", { ...at(i), fill: COLOURS[Number(cell)], class: `disc${isNew ? " new" : ""}${line.includes(i) ? " line" : ""}` });
      if (isNew) disc.style.setProperty("--fall", `${-at(i).cy - 5}px`); // from above the board
      return disc;
    });
    const picture = svg("svg", { viewBox: `0 0 ${columns * 10} ${rows * 10}`, role: "img", "aria-label": describe(cells, columns, rows) },
      svg("rect", { width: columns * 10, height: rows * 10, rx: 3, class: "frame" }), ...holes, discs);
    const held = document.activeElement?.dataset?.move;
    const buttons = this.moves.map((move, c) => el("button", {
      type: "button", class: `column${lit[c] ? " legal" : ""}`, dataset: { move: move.id }, "aria-label": move.label, "aria-disabled": String(!lit[c]), onclick: () => this.press(move),
    }, el("kbd", {}, move.key)));
    this.node.replaceChildren(this.#heading(frame), el("div", { class: "columns" }, buttons), picture);
    if (held) this.node.querySelector(`[data-move="${held}"]`)?.focus();
  }

  #heading(frame) {
    const names = this.log.facts.names ?? [];
    const turn = frame.acting.indexOf(true);
    return el("p", { class: "sides" }, names.map((name, seat) => el("span", { class: `side seat${seat}${turn === seat ? " turn" : ""}` }, name)));
  }

  draw() { /* nothing moves between frames */ }

  lines() {
    return [];
  }

  marks() {
    return [];
  }
}

function winningLine(cells, columns, rows) {
  for (let i = 0; i < cells.length; i++) {
    if (cells[i] === ".") continue;
    const x = i % columns;
    for (const [dx, dy] of [[1, 0], [0, 1], [1, 1], [-1, 1]]) {
      const endX = x + 3 * dx;
      if (endX < 0 || endX >= columns || Math.floor(i / columns) + 3 * dy >= rows) continue;
      const four = [0, 1, 2, 3].map((k) => i + k * (dx + dy * columns));
      if (four.every((j) => cells[j] === cells[i])) return four;
    }
  }
  return [];
}

function describe(cells, columns, rows) {
  const lines = [];
  for (let r = rows - 1; r >= 0; r--) lines.push([...cells.slice(r * columns, (r + 1) * columns)].map((c) => ({ 0: "first", 1: "second" })[c] ?? "empty").join(", "));
  return `Board, top row first: ${lines.join("; ")}`;
}
