// What may be done now: the game's mask, and its rules among heads. The server decides; this only lights the buttons.

export class Legality {
  constructor(heads) {
    this.heads = heads;
    this.offset = [];
    let at = 0;
    for (const head of heads) {
      this.offset.push(at);
      at += head.choices.length;
    }
    this.size = at;
    this.index = new Map(heads.map((head, h) => [head.name, h]));
  }

  column(head, choice) {
    const h = this.index.get(head);
    const c = h === undefined ? -1 : this.heads[h].choices.indexOf(choice);
    return c < 0 ? -1 : this.offset[h] + c;
  }

  has(head, choice) {
    return this.column(head, choice) >= 0;
  }

  // Whether these picks can be made together; heads without a pick do nothing.
  allows(legal, picks) {
    const action = [];
    for (const [h, head] of this.heads.entries()) {
      const wanted = picks.get(head.name);
      const chosen = head.choices.indexOf(wanted ?? head.fallback);
      if (chosen < 0) return false;
      if (wanted !== undefined && !this.#isOpen(legal, h, chosen, action)) return false;
      action.push(chosen);
    }
    return true;
  }

  // Whether mask and rules allow a choice; where they leave nothing, a head's fallback is what is left.
  #isOpen(legal, h, chosen, action) {
    const head = this.heads[h];
    if (legal[this.offset[h] + chosen] !== "1") return false;
    const isFree = (choice, c) => legal[this.offset[h] + c] === "1"
      && head.rules.every((rule) => rule.choice !== choice || this.#holds(rule, action));
    return isFree(head.choices[chosen], chosen) || (head.choices[chosen] === head.fallback && !head.choices.some(isFree));
  }

  #holds(rule, action) {
    const made = ([head, choice]) => {
      const h = this.index.get(head);
      return this.heads[h].choices[action[h]] === choice;
    };
    if (rule.when === "all") return rule.picks.every(made);
    if (rule.when === "any") return rule.picks.some(made);
    return !rule.picks.some(made);
  }
}

// What was clicked for this step. A move is {group, picks: [[head, choice], …]}; one move a group.
export class Wishes {
  constructor(legality) {
    this.legality = legality;
    this.moves = new Map();
  }

  clear() {
    this.moves.clear();
  }

  get picks() {
    return [...this.moves.values()].flatMap((move) => move.picks);
  }

  isChosen(move) {
    return this.moves.get(move.group)?.id === move.id;
  }

  // Whether the move can be made now, dropping other wishes if it must.
  isLegal(legal, move) {
    return legal !== null && this.legality.allows(legal, new Map(move.picks));
  }

  // Toggle a move; wishes that cannot be made together with it are dropped, newest kept.
  press(legal, move) {
    if (this.isChosen(move)) {
      this.moves.delete(move.group);
      return true;
    }
    if (!this.isLegal(legal, move)) return false;
    const older = [...this.moves.values()].filter((other) => other.group !== move.group).reverse();
    const kept = [move];
    for (const other of older) {
      const picks = new Map([...kept, other].flatMap((one) => one.picks));
      if (this.legality.allows(legal, picks)) kept.push(other);
    }
    this.moves = new Map(kept.reverse().map((one) => [one.group, one]));
    return true;
  }
}
