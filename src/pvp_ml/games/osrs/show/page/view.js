// A fight on the page: tiles, cards and panel together.

import { $ } from "/static/dom.js";
import { Cards } from "./cards.js";
import { MOVES } from "./moves.js";
import { Panel } from "./panel.js";
import { Stage } from "./stage.js";

export default class OsrsView {
  constructor(game, log, wishes, press) {
    this.log = log;
    this.moves = MOVES[game] ?? [];
    this.stage = new Stage(log, press);
    $("scene").replaceChildren(this.stage.canvas);
    this.cards = new Cards($("cards"), log);
    this.panel = new Panel($("panel"), log, wishes, press);
    this.sections = [["F1", "part-attack"], ["F2", "part-inventory"], ["F3", "part-worn"], ["F4", "part-prayer"], ["F6", "part-gear"]];
  }

  render() {
    this.cards.render();
    this.panel.render();
    this.stage.canvas.setAttribute("aria-label", this.stage.describe());
  }

  draw(now) {
    this.stage.draw(now);
  }

  // An overhead that is on stays on: said aloud, so that the tick is a whole decision to learn from.
  standing(frame) {
    const { overhead } = frame.scene.fighters[this.log.facts.human];
    const move = this.moves.find((one) => one.shows === overhead);
    return move ? move.picks : [];
  }

  // Lines for the timeline: hitpoints of both.
  lines(frame) {
    return frame.scene.fighters.map((fighter) => fighter.hp[0] / fighter.hp[1]);
  }

  // Moments worth a mark.
  marks(frame) {
    return frame.scene.fighters.map((fighter) => (fighter.dying ? "death" : fighter.attack?.special ? "special" : fighter.attack?.froze ? "freeze" : null));
  }
}
