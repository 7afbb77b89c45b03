// One simulated turn from a rebuilt battle: a clone, both sides' choices, and what stands at the next turn.
'use strict';

const {PRNG} = require('../simulator');
const {BOTS} = require('../bots/bots');
const legal = require('../legal');
const {perspective} = require('../seen/perspective');
const {battleSeed, generator} = require('../seeds');
const {cloneBattle, cloneTracker} = require('./clone');

const MOST_ROUNDS = 12; // forced switches between two turns
const mask = new Uint8Array(legal.MASK_SIZE);

const asked = side => Boolean(side.activeRequest) && !side.activeRequest.wait;

// Shares of what a side has, 0 to 1: half for standing, half for HP.
function worth(side, size) {
  return side.pokemon.reduce((sum, mon) => sum + (mon.fainted ? 0 : 0.5 + 0.5 * mon.hp / mon.maxhp), 0) / size;
}

class Leaf {
  // `world`: {battle, homes: [entries, entries]}; `tracker`: what everybody has seen so far.
  constructor(world, tracker, seed) {
    this.homes = world.homes;
    this.battle = cloneBattle(world.battle);
    this.battle.prng = new PRNG(battleSeed(seed));
    this.tracker = cloneTracker(tracker);
    this.random = generator(seed, 9);
    this.read = 0;
  }

  look() {
    this.read = this.tracker.read(this.battle.log, this.read);
    this.battle.sentLogPos = this.battle.log.length;
  }

  view(seat) {
    const side = this.battle.sides[seat];
    return perspective(this.tracker, seat, side.activeRequest || {wait: true, side: side.getRequestData()}, this.homes[seat]);
  }

  // The picks of both seats, null for one that is not asked; false when the battle refuses them.
  play(picks) {
    for (const seat of [0, 1]) {
      const side = this.battle.sides[seat];
      if (!asked(side) || !picks[seat]) continue;
      if (!this.battle.choose(side.id, legal.spell(side.activeRequest, ...picks[seat]))) return false;
    }
    return this.settle();
  }

  // Replaces the fallen as the heuristics bot would, until the next turn begins or the battle is over.
  settle() {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      this.look();
      if (this.battle.ended || this.battle.requestState === 'move') return true;
      for (const side of this.battle.sides) if (asked(side) && !this.battle.ended) this.replace(side);
    }
    return false;
  }

  replace(side) {
    const request = side.activeRequest;
    legal.writeMask(request, mask);
    const picks = BOTS.heuristics(this.view(side.n), mask, this.random);
    if (!this.battle.choose(side.id, legal.spell(request, ...picks))) this.battle.choose(side.id, 'default');
  }

  // 1, 0, −1 for the seat when the battle is over, else null.
  result(seat) {
    const {ended, winner, sides} = this.battle;
    return !ended ? null : !winner ? 0 : winner === sides[seat].name ? 1 : -1;
  }

  // −1 to 1: how much more the seat has than its foe.
  material(seat) {
    const {sides, ruleTable} = this.battle;
    const size = ruleTable.pickedTeamSize || sides[seat].pokemon.length;
    return worth(sides[seat], size) - worth(sides[1 - seat], size);
  }
}

module.exports = {Leaf};
