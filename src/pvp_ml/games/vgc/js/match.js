// One match: a battle, what everybody has seen of it, and who has to decide next.
'use strict';

const {Battle, Teams} = require('./simulator');
const {BOTS} = require('./bots/bots');
const legal = require('./legal');
const {perspective} = require('./seen/perspective');
const {battleSeed, generator} = require('./seeds');
const {Tracker} = require('./seen/tracker');

const FAULT = {none: 0, crashed: 1, stalled: 2, rejected: 5}; // as pvp_ml.match.Fault
const MAX_ROUNDS = 64; // bot answers between two rows before the match counts as stuck

class Match {
  // plan: {slot, serial, seed, format, sheets, teams: [packed team, packed team], bots: [name or '', …], adviser: name or '',
  // maxSteps, keepLog}
  constructor(plan) {
    this.plan = plan;
    this.steps = 0;
    this.fault = FAULT.none;
    this.faultText = '';
    this.ended = false;
    this.truncated = false;
    this.pending = [false, false];
    this.error = '';
    this.unavailable = [0, 0];
    this.rejected = 0;
    this.decisions = [0, 0];
    this.home = [[], []];
    this.random = [generator(plan.seed, 1), generator(plan.seed, 2)];
    this.mask = new Uint8Array(legal.MASK_SIZE);
    this.battle = new Battle({
      formatid: plan.format, seed: plan.prngSeed || battleSeed(plan.seed), send: (type, data) => this.hear(type, data),
    });
    plan.teams.forEach((team, i) => {
      this.battle.setPlayer(`p${i + 1}`, {name: `Seat ${i + 1}`, team: Teams.unpack(team)});
    });
    if (plan.sheets === 'open') this.battle.showOpenTeamSheets();
    this.brought = this.battle.ruleTable.pickedTeamSize || 4;
    this.tracker = new Tracker(this.battle.dex);
    this.position = 0;
    this.stepFrom = 0; // where the log of the last step begins
    this.drawn = false; // whether somebody looks at it
    this.refresh();
    for (const seat of [0, 1]) this.home[seat] = this.request(seat).side.pokemon;
    this.counted = this.count();
  }

  hear(type, data) {
    if (type === 'sideupdate' && data.includes('|error|')) this.error = data.slice(data.indexOf('|error|') + 7);
  }

  // What the seat is asked now; after the end, what it would see of its own team.
  request(seat) {
    const side = this.battle.sides[seat];
    return side.activeRequest || {wait: true, side: side.getRequestData()};
  }

  // Reads what happened and finds out who must decide.
  refresh() {
    const battle = this.battle;
    this.position = this.tracker.read(battle.log, this.position);
    battle.sentLogPos = battle.log.length; // the simulator refuses to run far ahead of its readers
    battle.sentRequests = true;
    this.ended = battle.ended;
    for (const seat of [0, 1]) {
      const request = battle.sides[seat].activeRequest;
      this.pending[seat] = !battle.ended && Boolean(request) && !request.wait;
    }
  }

  perspective(seat) {
    return perspective(this.tracker, seat, this.request(seat), this.home[seat]);
  }

  isBot(seat) {
    return this.plan.bots[seat] !== '';
  }

  isActing(seat) {
    return this.pending[seat] && !this.isBot(seat);
  }

  choose(seat, choice) {
    this.error = '';
    this.decisions[seat]++;
    if (this.battle.choose(`p${seat + 1}`, choice)) {
      this.pending[seat] = false;
      return;
    }
    if (this.error.startsWith('[Unavailable choice]')) {
      this.unavailable[seat]++; // now the seat knows more, and is asked again
      return;
    }
    this.rejected++;
    this.fail(FAULT.rejected, `choice "${choice}" of seat ${seat} was rejected: ${this.error}`);
  }

  fail(fault, text) {
    if (this.fault === FAULT.none) {
      this.fault = fault;
      this.faultText = text;
    }
  }

  answerBots() {
    for (const seat of [0, 1]) {
      if (!this.pending[seat] || !this.isBot(seat) || this.fault) continue;
      const request = this.request(seat);
      legal.writeMask(request, this.mask);
      const [preview, first, second] = BOTS[this.plan.bots[seat]](this.perspective(seat), this.mask, this.random[seat]);
      this.choose(seat, legal.spell(request, preview, first, second));
    }
  }

  // Lets bots answer until somebody else has to. A match of bots alone stops after each request.
  settle(oneRequest) {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      if (this.ended || this.fault) return;
      this.answerBots();
      if (this.fault || this.isActing(0) || this.isActing(1)) return;
      if (this.pending[0] || this.pending[1]) continue; // a bot learnt that its choice was unavailable
      this.refresh();
      if (oneRequest) return;
    }
    this.fail(FAULT.stalled, 'the bots did not get past a request');
  }

  // The first row: nobody has chosen yet.
  begin() {
    if (!this.isBot(0) || !this.isBot(1)) this.settle(false);
  }

  // One step: the picks [preview, first, second] of the seats that are acting.
  step(picks) {
    this.steps++;
    this.stepFrom = this.battle.log.length;
    for (const seat of [0, 1]) {
      if (this.isActing(seat) && !this.fault) this.choose(seat, legal.spell(this.request(seat), ...picks[seat]));
    }
    if (!this.fault && !this.pending[0] && !this.pending[1] && !(this.isBot(0) && this.isBot(1))) this.refresh();
    this.settle(this.isBot(0) && this.isBot(1));
    if (!this.ended && this.steps >= this.plan.maxSteps) this.truncated = true;
  }

  // Fainted, HP and statuses of both sides, as shares of those that fight.
  count() {
    return this.battle.sides.map((side, seat) => {
      let fainted = 0;
      let hp = 0;
      let statused = 0;
      for (const mon of side.pokemon) {
        if (mon.fainted) fainted++;
        else if (mon.status) statused++;
        hp += mon.hp / mon.maxhp;
      }
      const alive = this.battle.turn > 0 ? hp / side.pokemon.length : 1;
      return {
        fainted: fainted / this.brought, hp: alive, statused: statused / this.brought,
        gimmick: this.tracker.teams[seat].gimmickUsed ? 1 : 0,
        unavailable: this.unavailable[seat], decisions: this.decisions[seat],
      };
    });
  }

  // What changed since the last call, per side.
  changes() {
    const now = this.count();
    const changed = now.map((side, i) => {
      const before = this.counted[i];
      return Object.fromEntries(Object.keys(side).map(key => [key, side[key] - before[key]]));
    });
    this.counted = now;
    return changed;
  }

  // 1, 0, −1 for the seat.
  result(seat) {
    const winner = this.battle.winner;
    if (!this.ended || !winner) return 0;
    return winner === this.battle.sides[seat].name ? 1 : -1;
  }

  get over() {
    return this.ended || this.truncated || this.fault !== FAULT.none;
  }

  // Breaks the simulator's reference cycles; a battle that failed half-way may refuse, and is simply dropped.
  close() {
    try {
      if (this.battle) this.battle.destroy();
    } catch (error) {
      console.error(`match ${this.plan.serial}: ${error}`);
    }
    this.battle = null;
  }
}

module.exports = {Match, FAULT};
