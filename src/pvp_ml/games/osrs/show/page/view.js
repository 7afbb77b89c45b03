// A fight on the page: tiles, cards and panel together.

import { $ } from "/static/dom.js";
import { accountChooser } from "./accounts.js";
import { Cards } from "./cards.js";
import { MOVES } from "./moves.js";
import { Panel } from "./panel.js";
import { reason } from "./reasons.js";
import { Stage } from "./stage.js";
import { summary } from "./summary.js";

export default class OsrsView {
  static lobby = accountChooser;

  constructor(game, log, wishes, press) {
    this.log = log;
    this.moves = MOVES[game] ?? [];
    this.stage = new Stage(log, press);
    $("scene").replaceChildren(this.stage.canvas);
    this.cards = new Cards($("cards"), log);
    this.panel = new Panel($("panel"), log, wishes, press, (move) => this.why(move));
    this.about = "A fight runs in ticks of 600 ms. What you choose during a tick becomes one action when it ends: an attack, a prayer, food, a potion and a step may go together. Only what is legal lights up; anything else says why it does not. Choose again to take it back. Click a tile to move there relative to your opponent.";
    this.sections = [["F1", "part-attack", "attacks"], ["F2", "part-inventory", "inventory"], ["F3", "part-worn", "equipment"], ["F4", "part-prayer", "prayers"], ["F6", "part-gear", "gear and spells"]];
  }

  render() {
    this.cards.render();
    this.panel.render();
    this.stage.canvas.setAttribute("aria-label", this.stage.describe());
  }

  draw(now) {
    this.stage.draw(now);
  }

  // Why a move cannot be made now; '' where it can, or where nobody plays.
  why(move) {
    const { frame, facts } = this.log;
    if (!frame || facts.human === null || facts.human === undefined) return "";
    return `${move.label}: ${reason(move, frame.scene, facts.human)}`;
  }

  // What players talk about afterwards.
  summary() {
    return summary(this.log);
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
