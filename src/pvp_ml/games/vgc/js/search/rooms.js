// The battles that a search thinks about: what the seat was shown in each, and the battles rebuilt from it.
'use strict';

const legal = require('../legal');
const {Dex} = require('../simulator');
const {perspective} = require('../seen/perspective');
const {battleSeed, generator} = require('../seeds');
const {Tracker} = require('../seen/tracker');
const {guessSets, guessBrought} = require('./guess');
const {Leaf} = require('./leaf');
const {rebuild, Declined} = require('./rebuild');

const BROUGHT = 4;

class Room {
  constructor(format) {
    this.format = format;
    this.dex = Dex.forFormat(format);
    this.tracker = new Tracker(this.dex);
    this.home = [];
    this.request = null;
    this.seat = 0;
    this.worlds = [];
  }

  // Takes what the seat was shown since the last time, and what it is asked now.
  hear(lines, request) {
    const again = lines.findLastIndex(line => line.startsWith('|init|'));
    if (again >= 0) this.tracker = new Tracker(this.dex); // a server that is asked again tells everything from the beginning
    this.tracker.read(lines, Math.max(again, 0));
    this.request = request;
    this.seat = Number(request.side.id[1]) - 1;
    if (request.teamPreview) this.home = request.side.pokemon;
    this.close();
  }

  // Rebuilds `count` battles that fit what the seat knows; raises Declined when that cannot be done.
  imagine(count, seed, usage) {
    const foes = this.tracker.teams[1 - this.seat];
    const rules = Dex.formats.getRuleTable(Dex.formats.get(this.format));
    const places = Dex.formats.get(this.format).gameType === 'doubles' ? 2 : 1;
    if (!foes.mons.length) throw new Declined('the foes are not known');
    for (let n = 0; n < count; n++) {
      const random = generator(seed, n);
      const sets = guessSets(this.dex, foes, random, usage);
      const brought = guessBrought(foes, places, rules.pickedTeamSize || BROUGHT, random);
      const position = {
        format: this.format, tracker: this.tracker, seat: this.seat, request: this.request, home: this.home, sets, brought,
        seed: battleSeed(seed),
      };
      this.worlds.push(this.world(position, random));
    }
  }

  world(position, random) {
    const homes = [this.home, this.home];
    const battle = rebuild(position, random, entries => { homes[1 - this.seat] = entries; });
    return {battle, homes};
  }

  view(world) {
    const other = 1 - this.seat;
    return perspective(this.tracker, other, world.battle.sides[other].activeRequest, world.homes[other]);
  }

  ownView() {
    return perspective(this.tracker, this.seat, this.request, this.home);
  }

  // One turn in a world with the picks of both; null when a choice is refused there.
  simulate(number, own, foe, seed) {
    const world = this.worlds[number];
    const leaf = new Leaf(world, this.tracker, seed);
    return leaf.play(this.seat === 0 ? [own, foe] : [foe, own]) ? leaf : null;
  }

  close() {
    for (const {battle} of this.worlds) battle.destroy();
    this.worlds = [];
  }
}

// Legal columns of a request's mask.
function columns(request) {
  const mask = new Uint8Array(legal.MASK_SIZE);
  legal.writeMask(request, mask);
  return [...mask.keys()].filter(i => mask[i]);
}

module.exports = {Room, columns, Declined};
