// What can be known about a Pokémon, a place on the field and a team by watching.
'use strict';

const {toID} = require('../simulator');

const STATS = ['atk', 'def', 'spa', 'spd', 'spe', 'accuracy', 'evasion'];
const STAT_INDEX = Object.fromEntries(STATS.map((stat, i) => [stat, i]));

const effectId = text => toID(text.replace(/^(move|ability|item): ?/, ''));

// Public knowledge of one Pokémon of a team.
class Mon {
  constructor(species, level, gender) {
    this.species = species;
    this.level = level;
    this.gender = gender;
    this.name = '';
    this.hp = 1; // fraction
    this.status = '';
    this.statusTurns = 0;
    this.fainted = false;
    this.shown = false;
    this.ability = '';
    this.abilityKnown = false;
    this.item = '';
    this.itemKnown = false;
    this.lost = ''; // the item that it lost last
    this.lostAt = -1; // after how many moves of the battle
    this.born = null; // the ability before a change of forme that ends with its fainting
    this.tera = '';
    this.teraKnown = false;
    this.terastallized = false;
    this.mega = false;
    this.twinOf = null; // the Pokémon that it looks like while that one stands beside it
    this.moves = []; // ids, in the order of the sheet or of their first use
    this.used = new Map(); // move id → PP spent
  }
}

// One place on the field. Everything here ends when its Pokémon leaves.
class Slot {
  constructor() {
    this.boosts = new Int8Array(STATS.length);
    this.mon = null;
    this.clear();
  }

  clear() {
    this.boosts.fill(0);
    this.volatiles = Object.create(null); // id → turns or count
    this.types = null;
    this.addedType = '';
    this.ability = ''; // one that lasts only while on the field: copied, swapped, traced
    this.abilityHidden = false; // it took over an ability that nobody has seen
    this.species = null; // a forme that lasts only while on the field
    this.copied = null; // whose moves a transformed Pokémon has
    this.copiedUsed = null; // PP that it spent of them
    this.lastMove = '';
    this.protects = 0; // guards that worked in a row
    this.stall = 0; // upkeeps until they no longer count
    this.turns = 0;
    this.before = null; // what was known of the shown Pokémon before it came in, in case it is an illusion
  }
}

class TeamKnowledge {
  constructor() {
    this.mons = [];
    this.slots = [new Slot(), new Slot()];
    this.conditions = Object.create(null); // id → {layers, since: upkeeps at the start}
    this.gimmickUsed = false;
    this.sheetShown = false;
  }

  get fainted() {
    return this.mons.reduce((n, mon) => n + (mon.fainted ? 1 : 0), 0);
  }
}

module.exports = {Mon, Slot, TeamKnowledge, STATS, STAT_INDEX, effectId};
