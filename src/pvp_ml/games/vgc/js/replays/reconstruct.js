// A spectator's log read back into decisions: what each side saw is rebuilt, what it chose is taken from what happened.
//
// A log shows executed actions, not choices. A Pokémon that fainted, slept or flinched before it acted, or whose target
// may have been redirected, hides its choice: then the whole decision is left out and counted under its reason. So is
// everything that a team with an Illusion decides. Own stats are estimated, and moves that never appear are missing.
'use strict';

const legal = require('../legal');
const {Dex, toID} = require('../simulator');
const {isLegal} = require('../choices');
const {estimateStats} = require('../seen/perspective');
const {effectId} = require('../seen/knowledge');
const {Tracker} = require('../seen/tracker');

const {PASS, SWITCH, TARGETS} = legal;
const BROUGHT = 4;
const ROSTER = 6;
const REDIRECTING = ['followme', 'ragepowder', 'spotlight'];
const DRAWING = new Set(['lightningrod', 'stormdrain']);
const DRAWN = new Set(['Electric', 'Water', 'Normal']); // Normal may turn into either
const WIDENED = new Set(['expandingforce', 'terastarstorm']); // aimed at one foe, they may strike both; so do smart targets
const EJECTING = new Set(['ejectbutton', 'ejectpack', 'emergencyexit', 'wimpout']);
const PIVOTS = /\[from\] ?(move: )?(U-turn|Volt Switch|Flip Turn|Parting Shot|Baton Pass|Teleport|Chilly Reception|Shed Tail)/;

const sideOf = ident => ident.charCodeAt(1) - 49;
const slotOf = ident => ident[2] === 'a' ? 0 : ident[2] === 'b' ? 1 : -1;

// One side while the log is read: its list as the server would number it, and what it chose this turn.
class Side {
  constructor() {
    this.list = []; // indexes into the roster: left, right, back, back
    this.turn = null; // {request, asked}: the decision whose choices are being looked for
    this.clear();
  }

  clear() {
    this.choices = [null, null];
    this.gimmick = [false, false];
    this.ejected = [false, false];
    this.isSwapped = false;
    this.hasFallen = false; // somebody fainted since the turn began: whoever aimed there struck another
    this.hidden = '';
  }
}

class Reconstruction {
  constructor(format, lines, emit) {
    this.lines = lines.filter(line => line.startsWith('|'));
    this.dex = Dex.forFormat(format);
    this.isTera = !this.dex.currentMod.startsWith('champions');
    this.emit = emit;
    this.known = new Tracker(this.dex); // everything that the whole log will tell
    this.known.read(this.lines, 0);
    this.tracker = new Tracker(this.dex);
    this.sides = [new Side(), new Side()];
    this.counts = {decisions: 0, hidden: 0, won: -1, reasons: {}};
    this.names = {}; // p1, p2 → the players' names
    this.isUpkeep = false;
  }

  run() {
    if (this.known.teams.some(team => team.mons.length !== ROSTER)) throw new Error('the log does not show two teams of six');
    this.setOut();
    for (let at = 0; at < this.lines.length; at++) at = this.read(at);
    this.finishTurn();
    return this.counts;
  }

  // Leads and backs of both sides, as far as the log ever shows them.
  setOut() {
    const leads = [[], []];
    const scout = new Tracker(this.dex);
    for (const line of this.lines) {
      scout.line(line);
      if (!line.startsWith('|switch|')) continue;
      const ident = line.split('|')[2];
      const team = scout.teams[sideOf(ident)];
      if (leads[sideOf(ident)].length < 2) leads[sideOf(ident)].push(team.mons.indexOf(team.slots[slotOf(ident)].mon));
      if (leads[0].length === 2 && leads[1].length === 2) break;
    }
    this.sides.forEach((side, seat) => {
      const shown = [...Array(ROSTER).keys()].filter(i => this.known.teams[seat].mons[i].shown && !leads[seat].includes(i));
      const unseen = [...Array(ROSTER).keys()].filter(i => !this.known.teams[seat].mons[i].shown);
      side.mayDisguise = this.known.teams[seat].mons.some(mon => Object.values(mon.species.abilities).includes('Illusion'));
      side.leads = leads[seat];
      side.backs = shown;
      side.list = [...leads[seat], ...shown, ...unseen].slice(0, BROUGHT);
    });
  }

  entry(seat, index, active) {
    const now = this.tracker.teams[seat].mons[index];
    const later = this.known.teams[seat].mons[index];
    const stats = estimateStats(now.species, now.level);
    const hp = now.fainted ? '0 fnt' : `${Math.max(1, Math.round(now.hp * stats[0]))}/${stats[0]}${now.status ? ` ${now.status}` : ''}`;
    return {
      ident: `p${seat + 1}: ${later.name || now.species.name}`,
      details: `${now.species.name}, L${now.level}${now.gender ? `, ${now.gender}` : ''}`, condition: hp, active,
      stats: {atk: stats[1], def: stats[2], spa: stats[3], spd: stats[4], spe: stats[5]}, moves: later.moves.slice(),
      ability: now.abilityKnown ? now.ability : later.ability, item: now.itemKnown ? now.item : later.item,
      teraType: later.tera, terastallized: now.terastallized ? now.tera : '',
    };
  }

  sideRequest(seat) {
    const {list} = this.sides[seat];
    const slots = this.tracker.teams[seat].slots;
    const pokemon = list.map((index, i) => this.entry(seat, index, i < 2));
    slots.forEach((slot, i) => { if (pokemon[i] && slot.volatiles.commanding) pokemon[i].commanding = true; });
    return {id: `p${seat + 1}`, pokemon};
  }

  home(seat) {
    return [...Array(ROSTER).keys()].map(index => this.entry(seat, index, false));
  }

  turnRequest(seat) {
    const side = this.sideRequest(seat);
    const mayGimmick = !this.tracker.teams[seat].gimmickUsed;
    const active = [0, 1].map(slot => {
      const later = this.known.teams[seat].mons[this.sides[seat].list[slot]];
      const moves = side.pokemon[slot].moves.map(id => ({id, target: this.dex.moves.get(id).target, disabled: false}));
      const offer = !mayGimmick ? {} : this.isTera ? {canTerastallize: later.tera || 'Normal'} : later.mega ? {canMegaEvo: true} : {};
      return {moves, ...offer};
    });
    return {active, side};
  }

  // The observation has to be written before the lines that show the choice are read.
  ask(seat, request) {
    const mask = new Uint8Array(legal.MASK_SIZE);
    legal.writeMask(request, mask);
    return {seat, mask, obs: this.emit.look(seat, this.tracker, request, this.home(seat))};
  }

  tell(asked, picks) {
    if (this.sides[asked.seat].mayDisguise) return this.drop('one of its team can look like another');
    if (!isLegal(asked.mask, picks)) return this.drop('not allowed by what the log shows');
    this.counts.decisions++;
    return this.emit.send(asked.seat, asked.obs, asked.mask, picks);
  }

  drop(reason) {
    this.counts.hidden++;
    this.counts.reasons[reason] = (this.counts.reasons[reason] || 0) + 1;
  }

  // Reads the line at `at` (and what belongs to it) and returns the last index that it read.
  read(at) {
    const line = this.lines[at];
    const kind = line.split('|')[1];
    if (kind === 'start') this.preview();
    if (kind === 'switch' && this.tracker.turn > 0) return this.entrances(at);
    if (this.tracker.turn > 0) this.observe(line.split('|'));
    if (kind === 'win') this.counts.won = ['p1', 'p2'].findIndex(id => this.names[id] === line.split('|')[2]);
    if (kind === 'player' && line.split('|')[3]) this.names[line.split('|')[2]] = line.split('|')[3];
    if (kind === 'turn') this.finishTurn();
    this.tracker.line(line);
    if (kind === 'turn') this.beginTurn();
    return at;
  }

  preview() {
    for (const seat of [0, 1]) {
      const {leads, backs} = this.sides[seat];
      const order = [[...leads].sort(), [...backs].sort()].flat().map(i => i + 1);
      const index = legal.PREVIEWS.findIndex(known => known.join() === order.join());
      const pokemon = this.home(seat);
      if (index < 0) this.drop('not all four were seen');
      else this.tell(this.ask(seat, {teamPreview: true, side: {id: `p${seat + 1}`, pokemon}}), [index + 1, PASS, PASS]);
    }
  }

  beginTurn() {
    this.isUpkeep = false;
    this.sides.forEach((side, seat) => {
      side.clear();
      const team = this.tracker.teams[seat];
      side.standing = team.slots.map(slot => Boolean(slot.mon && !slot.mon.fainted && !slot.volatiles.commanding));
      const request = this.turnRequest(seat);
      side.turn = {request, asked: this.ask(seat, request)};
    });
  }

  finishTurn() {
    this.sides.forEach(side => {
      if (!side.turn) return;
      const {asked} = side.turn;
      side.turn = null;
      const picks = [0, ...[0, 1].map(slot => side.standing[slot] ? this.withGimmick(side, slot) : PASS)];
      if (side.hidden || picks.includes(null)) this.drop(side.hidden || 'did not act');
      else this.tell(asked, picks);
    });
  }

  withGimmick(side, slot) {
    const choice = side.choices[slot];
    return choice !== null && choice < SWITCH && side.gimmick[slot] ? choice + 5 : choice;
  }

  observe(parts) {
    const [, kind, ident = ''] = parts;
    if (kind === 'upkeep') this.isUpkeep = true;
    if (!/^p[12][ab]/.test(ident)) return;
    const seat = sideOf(ident);
    const side = this.sides[seat];
    const slot = slotOf(ident);
    if (kind === '-terastallize' || kind === '-mega') side.gimmick[slot] = true;
    else if (kind === 'swap') this.swap(side);
    else if (kind === 'drag') this.place(seat, slot, parts);
    else if (kind === 'faint') this.fall(seat, slot);
    else if (['-enditem', '-activate'].includes(kind) && EJECTING.has(effectId(parts[3]))) side.ejected[slot] = true;
    else if (kind === '-start' && toID(parts[3]) === 'encore' && side.choices[slot] === null) side.hidden ||= 'was encored first';
    else if (kind === 'move') this.moved(seat, slot, parts);
  }

  swap(side) {
    [side.list[0], side.list[1]] = [side.list[1], side.list[0]];
    side.isSwapped = true;
    side.hidden ||= 'places were swapped';
  }

  fall(seat, slot) {
    this.sides[seat].hasFallen = true;
    if (this.sides[seat].choices[slot] === null) this.sides[seat].hidden ||= 'fainted before it acted';
  }

  moved(seat, slot, parts) {
    const side = this.sides[seat];
    if (side.choices[slot] !== null || !side.turn || !side.standing[slot]) return;
    if (parts.some(part => part.startsWith('[from]'))) {
      side.hidden ||= 'its move was not chosen';
      return;
    }
    const id = toID(parts[3]);
    const moves = side.turn.request.active[slot].moves;
    const index = moves.findIndex(move => move.id === id);
    const target = index < 0 ? null : this.target(seat, slot, moves[index], parts);
    if (target === null) side.hidden ||= 'its target may have been another';
    else side.choices[slot] = 10 * index + target;
  }

  // Index into TARGETS, or null when the log cannot tell.
  target(seat, slot, move, parts) {
    const single = ['normal', 'any', 'adjacentFoe', 'adjacentAlly', 'adjacentAllyOrSelf'].includes(move.target);
    if (!single) return TARGETS.indexOf(0);
    const ident = parts[4] || '';
    if (!/^p[12][ab]/.test(ident) || parts.some(part => part.startsWith('[notarget]'))) return null;
    const other = sideOf(ident);
    if (this.mayBeRedirected(seat, other, slotOf(ident), this.dex.moves.get(move.id))) return null;
    return TARGETS.indexOf(other === seat ? (slotOf(ident) === 0 ? -1 : -2) : slotOf(ident) + 1);
  }

  // Whether the Pokémon that was struck need not be the one that was aimed at.
  mayBeRedirected(seat, other, slot, move) {
    const {mon, ability, volatiles} = this.tracker.teams[other].slots[slot];
    if (!mon || REDIRECTING.some(id => volatiles[id])) return true;
    const later = this.known.teams[other].mons.find(known => known.name === mon.name);
    const draws = [ability, mon.ability, later && later.ability].some(id => DRAWING.has(id));
    if (draws && (DRAWN.has(move.type) || move.onModifyType)) return true;
    if (other === seat) return false;
    return this.sides[other].hasFallen || this.sides[other].isSwapped || WIDENED.has(move.id) || Boolean(move.smartTarget);
  }

  // Everything that comes in at once: chosen switches of the turn, replacements of the fallen, pivots.
  entrances(at) {
    let end = at;
    while (end + 1 < this.lines.length && this.lines[end + 1].startsWith('|switch|')) end++;
    const group = this.lines.slice(at, end + 1).map(line => line.split('|'));
    const {ejected} = this.sides[sideOf(group[0][2])];
    const isPivot = PIVOTS.test(this.lines[at]) || ejected[slotOf(group[0][2])];
    ejected[slotOf(group[0][2])] = false;
    if (isPivot || this.isUpkeep) {
      const groups = [0, 1].map(seat => group.filter(parts => sideOf(parts[2]) === seat));
      const asked = groups.map((own, seat) => own.length ? this.askForced(seat, own, isPivot) : null); // both choose unseen
      groups.forEach((own, seat) => { if (own.length) this.replaced(asked[seat], own); });
      return end;
    }
    this.chosen(group[0]);
    return at;
  }

  chosen(parts) {
    const seat = sideOf(parts[2]);
    const slot = slotOf(parts[2]);
    const side = this.sides[seat];
    const row = this.place(seat, slot, parts);
    if (parts.some(part => part.startsWith('[from]'))) side.hidden ||= 'its switch was not chosen';
    else if (side.turn && side.choices[slot] === null) side.choices[slot] = SWITCH + row;
  }

  // Reads the entrance and swaps the list as the server does; returns the row that came in.
  place(seat, slot, parts) {
    this.tracker.line(parts.join('|'));
    const {list} = this.sides[seat];
    const team = this.tracker.teams[seat];
    const row = list.indexOf(team.mons.indexOf(team.slots[slot].mon));
    if (row > 1) [list[slot], list[row]] = [list[row], list[slot]];
    return row;
  }

  askForced(seat, group, isPivot) {
    const slots = this.tracker.teams[seat].slots;
    const coming = group.map(parts => slotOf(parts[2]));
    const flags = [0, 1].map(slot => coming.includes(slot) || (!isPivot && Boolean(slots[slot].mon && slots[slot].mon.fainted)));
    return this.ask(seat, {forceSwitch: flags, side: this.sideRequest(seat)});
  }

  replaced(asked, group) {
    const {list} = this.sides[asked.seat];
    const before = list.slice();
    const picks = [0, PASS, PASS];
    for (const parts of group) {
      const slot = slotOf(parts[2]);
      this.place(asked.seat, slot, parts);
      picks[1 + slot] = SWITCH + before.indexOf(list[slot]);
    }
    this.tell(asked, picks);
  }
}

module.exports = {Reconstruction};
