// A Pokémon battle on the page: field, log and choices together.

import { $ } from "/static/dom.js";
import { Choices, saysChoice } from "./choices.js";
import { Field, inWords, shareLeft } from "./field.js";
import { teamChooser } from "./teams.js";

const KEYS = "12345678";

export default class BattleView {
  static lobby = teamChooser;

  constructor(game, log, wishes, press, heads) {
    this.log = log;
    this.heads = heads;
    document.body.classList.add("vgc");
    $("cards").replaceChildren();
    this.field = new Field($("scene"), log);
    this.choices = new Choices($("panel"), log, wishes, press, heads);
    this.moves = [...KEYS].map((key, n) => ({ id: `key-${key}`, group: "keys", key, label: n ? `option ${key} of those available` : "the first available option", picks: [], act: () => this.choices.key(n) }));
    this.moves.push({ id: "key-back", group: "keys", key: "backspace", label: "back to the first slot", picks: [], act: () => this.choices.takeBack() });
    this.field.ground.addEventListener("click", (event) => this.#touch(event.target));
  }

  #touch(node) {
    const card = node.closest(".mon");
    const side = node.closest(".side");
    if (card && side) this.choices.aim(Number(side.dataset.seat), [...card.parentElement.children].indexOf(card));
  }

  render() {
    this.field.render();
    this.choices.render();
    const { frame, facts } = this.log;
    if (frame) this.field.ground.setAttribute("aria-label", inWords(frame.scene, facts.human ?? 0));
  }

  draw() { /* the style sheet moves what moves */ }

  // What a choice meant when it was made: in the step before the one that shows what came of it.
  says(head, choice, step, seat) {
    const scene = this.log.frames[step - 1]?.scene;
    if (!scene || scene.lost) return undefined;
    const side = scene.sides[seat];
    const said = saysChoice(head, choice, side, scene.sides[1 - seat], scene.moves);
    if (said !== null) return said;
    const [lineup] = Object.entries(side.asked.lineups ?? {}).find(([, order]) => order === this.heads[0].choices[choice]) ?? [];
    const names = (part) => [...part].map((digit) => side.mons[Number(digit) - 1]?.species ?? "?").join(" + ");
    return lineup ? lineup.split("/").map(names).join(", then ") : undefined;
  }

  // For the timeline: hitpoints that each side has left.
  lines(frame) {
    return frame.scene.lost ? [] : frame.scene.sides.map((side) => shareLeft(side, frame.result !== null, frame.scene.brought));
  }

  marks(frame) {
    return [1, 2].map((number) => (frame.scene.log?.some((line) => line.endsWith(`(seat ${number}) faints`)) ? "death" : null));
  }
}
