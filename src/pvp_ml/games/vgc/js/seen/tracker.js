// What everybody has seen of a battle: the public half of the log, read line by line.
//
// A seat's view is this plus that seat's own request, so a view cannot hold what the seat has not been shown. Of a
// split line only the shared half is read; the simulator's state is never touched.
'use strict';

const {Teams, toID} = require('../simulator');
const {Mon, TeamKnowledge, STATS, STAT_INDEX, effectId} = require('./knowledge');
const {LINES} = require('./lines');
const reveal = require('./reveal');

const ONE_TURN = ['protect', 'endure', 'helpinghand', 'followme', 'ragepowder', 'wideguard', 'quickguard', 'roost'];
const STALL_UPKEEPS = 2;
const FOES_MEANT = new Set(['all', 'allAdjacent', 'allAdjacentFoes']);
const ALLIES_MEANT = new Set(['allySide', 'allyTeam', 'allies', 'self', 'foeSide', 'adjacentAlly', 'adjacentAllyOrSelf']);
const BATON_PASSED = new Set(['substitute', 'confusion', 'leechseed', 'focusenergy', 'aquaring', 'ingrain', 'perish',
  'magnetrise', 'curse', 'embargo', 'healblock']);

class Tracker {
  constructor(dex) {
    this.dex = dex;
    this.teams = [new TeamKnowledge(), new TeamKnowledge()];
    this.turn = 0;
    this.upkeeps = 0; // ends of turns, when effects count down; one that begins after it has its full time
    this.actions = 0; // moves used
    this.lost = {id: '', at: -1}; // the last item that anybody lost, and after how many moves
    this.weather = '';
    this.weatherSince = 0;
    this.fields = Object.create(null); // id → upkeeps at its start
  }

  // Id of the terrain that lies on the field, or ''.
  get terrain() {
    for (const id in this.fields) if (id.endsWith('terrain')) return id;
    return '';
  }

  // Reads log[from…] and returns the new position.
  read(log, from) {
    let at = from;
    for (; at < log.length; at++) {
      if (log[at].startsWith('|split|')) at += 2; // marker, secret half, shared half
      if (at < log.length) this.line(log[at]);
    }
    return at;
  }

  line(text) {
    if (text.length < 3 || text[0] !== '|') return;
    if (text.startsWith('|showteam|')) return this.showTeam(text);
    const parts = text.split('|');
    const handler = LINES[parts[1]];
    if (handler === undefined) return;
    handler.call(this, parts, parts[2] || '');
    if (text.includes('[from]')) reveal.reveal(this, parts);
  }

  side(ident) {
    return this.teams[ident.charCodeAt(1) - 49];
  }

  slot(ident) {
    const letter = ident[2];
    return letter === 'a' ? this.side(ident).slots[0] : letter === 'b' ? this.side(ident).slots[1] : null;
  }

  mon(ident) {
    const slot = this.slot(ident);
    if (slot) return slot.mon;
    const name = ident.slice(4);
    return this.side(ident).mons.find(mon => mon.name === name || mon.species.baseSpecies === name) || null;
  }

  // The team member that a switch line names; one seen for the first time takes its nickname.
  identify(ident, details) {
    const [name, ...rest] = details.split(', ');
    const species = this.dex.species.get(name);
    const level = Number((rest.find(part => /^L\d+$/.test(part)) || 'L100').slice(1));
    const gender = rest.find(part => part === 'M' || part === 'F') || '';
    const nickname = ident.slice(ident.indexOf(': ') + 2);
    const team = this.side(ident);
    let mon = team.mons.find(known => known.name === nickname) ||
      team.mons.find(known => !known.name && known.species.baseSpecies === species.baseSpecies);
    if (!mon) {
      mon = new Mon(species, level, gender);
      team.mons.push(mon);
    }
    Object.assign(mon, {name: nickname, species, level, gender});
    reveal.inferAbility(mon);
    return mon;
  }

  condition(mon, text) {
    const [hp, status] = text.split(' ');
    if (status === 'fnt') {
      mon.hp = 0;
      return;
    }
    const [now, max] = hp.split('/');
    mon.hp = max ? parseFloat(now) / parseFloat(max) : parseFloat(now) / 100;
    if ((status || '') !== mon.status) this.setStatus(mon, status || '');
  }

  setStatus(mon, status) {
    mon.status = status;
    mon.statusTurns = 0;
  }

  enter(ident, details, condition, tags) {
    const slot = this.slot(ident);
    const mon = this.stranger(slot, this.identify(ident, details));
    const passed = tags.includes('[from] Baton Pass') ? BATON_PASSED :
      tags.includes('[from] Shed Tail') ? new Set(['substitute']) : null;
    const kept = passed ? Object.entries(slot.volatiles).filter(([id]) => passed.has(id)) : [];
    const boosts = passed === BATON_PASSED ? slot.boosts.slice() : null;
    this.leave(slot);
    slot.clear();
    if (boosts) slot.boosts.set(boosts);
    for (const [id, value] of kept) slot.volatiles[id] = value;
    slot.before = {mon, known: {...mon, moves: mon.moves.slice(), used: new Map(mon.used)}};
    slot.mon = mon;
    mon.shown = true;
    mon.fainted = false;
    this.condition(mon, condition);
    if (mon.status === 'tox') mon.statusTurns = 0;
  }

  // Two of a kind side by side: one is an illusion, so the newcomer is kept apart until one is unmasked.
  stranger(slot, mon) {
    const isTwin = this.teams.some(team => team.slots.some(other => other !== slot && other.mon === mon && !mon.fainted));
    if (!isTwin) return mon;
    return Object.assign(new Mon(mon.species, mon.level, mon.gender), mon, {
      moves: mon.moves.slice(), used: new Map(mon.used), hp: 1, status: '', twinOf: mon,
    });
  }

  // Regenerator heals a third without a word.
  leave(slot) {
    const {mon} = slot;
    if (mon && !mon.fainted && reveal.currentAbility(slot) === 'regenerator') mon.hp = Math.min(1, mon.hp + 1 / 3);
  }

  // An illusion ended: what was learnt since the entrance belongs to the unmasked Pokémon.
  unmask(ident, details, condition) {
    const slot = this.slot(ident);
    const shown = slot.mon;
    const now = {...shown};
    const known = slot.before && slot.before.mon === shown ? slot.before.known : now;
    Object.assign(shown, known);
    const real = this.identify(ident, details);
    if (real !== shown) {
      Object.assign(real, {hp: now.hp, status: now.status, statusTurns: now.statusTurns, fainted: now.fainted, shown: true});
      if (now.terastallized) Object.assign(real, {terastallized: true, tera: now.tera, teraKnown: true});
      if (now.item !== known.item) Object.assign(real, {item: now.item, itemKnown: now.itemKnown, lost: now.lost});
      for (const [id, spent] of now.used) {
        const more = spent - (known.used.get(id) || 0);
        if (!more) continue;
        this.learnMove(real, slot, id);
        real.used.set(id, (real.used.get(id) || 0) + more);
      }
    }
    slot.mon = real;
    slot.before = null;
    for (const other of this.side(ident).slots) {
      if (other.mon && other.mon.twinOf === shown) other.mon = Object.assign(shown, other.mon, {twinOf: null});
    }
    if (condition) this.condition(real, condition);
  }

  showTeam(text) {
    const team = this.teams[text.charCodeAt(11) - 49];
    const sets = Teams.unpack(text.slice(13)) || [];
    team.sheetShown = true;
    sets.forEach((set, i) => {
      const mon = team.mons[i];
      if (!mon) return;
      mon.species = this.dex.species.get(set.species || set.name);
      Object.assign(mon, {ability: toID(set.ability), abilityKnown: true, item: toID(set.item), itemKnown: true});
      if (set.teraType) Object.assign(mon, {tera: toID(set.teraType), teraKnown: true});
      mon.moves = set.moves.map(toID);
    });
  }

  learnMove(mon, slot, id) {
    if (slot.copied || mon.moves.includes(id) || mon.moves.length >= 4) return;
    mon.moves.push(id);
  }

  usedMove(parts, ident) {
    const slot = this.slot(ident);
    if (!slot || !slot.mon) return;
    const id = toID(parts[3]);
    this.actions++;
    delete slot.volatiles.twoturn;
    delete slot.volatiles.glaiverush;
    delete slot.volatiles.destinybond;
    slot.lastMove = id;
    const called = reveal.taggedWith(parts, '[from] ');
    if (id === 'struggle') return;
    if (!called || effectId(called) === id) { // a Round that follows a Round is a choice of its own
      this.learnMove(slot.mon, slot, id);
      this.spend(slot, id, 1 + this.pressure(ident, id, parts));
    } else if (called.startsWith('move: ') && slot.mon.moves.includes(effectId(called))) {
      this.spend(slot, effectId(called), this.pressure(ident, id, parts));
    }
  }

  spend(slot, id, points) {
    const used = slot.copied ? slot.copiedUsed : slot.mon.used;
    used.set(id, Math.max(0, (used.get(id) || 0) + points));
  }

  // Extra PP that the foes' Pressure costs a move: one for each foe with it that the move is meant for.
  pressure(ident, id, parts) {
    const move = this.dex.moves.get(id);
    const has = (slot, ability) => Boolean(slot && slot.mon && !slot.mon.fainted && reveal.currentAbility(slot) === ability);
    const gas = this.teams.some(team => team.slots.some(slot => has(slot, 'neutralizinggas')));
    const presses = slot => has(slot, 'pressure') && (slot.mon.item === 'abilityshield' || !(gas || slot.volatiles.gastroacid));
    const foes = this.teams[ident[1] === '1' ? 1 : 0].slots;
    if (FOES_MEANT.has(move.target) || move.flags.mustpressure) return foes.filter(presses).length;
    if (ALLIES_MEANT.has(move.target) || parts.includes('[notarget]')) return 0;
    const target = parts[4] || '';
    return /^p[12][ab]: /.test(target) && target[1] !== ident[1] && presses(this.slot(target)) ? 1 : 0;
  }

  boost(ident, stat, amount) {
    const slot = this.slot(ident);
    const i = STAT_INDEX[stat];
    if (slot && i !== undefined) slot.boosts[i] = Math.max(-6, Math.min(6, slot.boosts[i] + amount));
  }

  swapBoosts(ident, other, stats) {
    const a = this.slot(ident).boosts;
    const b = this.slot(other).boosts;
    for (const stat of stats) {
      const i = STAT_INDEX[stat];
      [a[i], b[i]] = [b[i], a[i]];
    }
  }

  startEffect(parts, ident) {
    const slot = this.slot(ident);
    if (!slot) return;
    const id = effectId(parts[3]);
    if (id === 'typechange') {
      slot.addedType = '';
      const reflected = parts.find(part => part.startsWith('[of] '));
      const copied = reflected && this.slot(reflected.slice(5));
      slot.types = parts[4] && parts[4][0] !== '[' ? parts[4].split('/').map(toID) :
        copied ? (copied.types || copied.mon.species.types.map(toID)) : slot.types;
    } else if (id === 'typeadd') {
      slot.addedType = toID(parts[4]);
    } else if (id.startsWith('perish')) {
      slot.volatiles.perish = Number(id.slice(6));
    } else {
      slot.volatiles[id.replace(/^(protosynthesis|quarkdrive)\w+$/, '$1').replace(/^dragoncheer$/, 'focusenergy')] = 1;
    }
  }

  endEffect(parts, ident) {
    const slot = this.slot(ident);
    if (!slot) return;
    const id = effectId(parts[3]);
    if (parts.includes('[partiallytrapped]')) delete slot.volatiles.partiallytrapped;
    else if (id === 'typechange') slot.types = null;
    else delete slot.volatiles[id];
  }

  activate(parts, ident) {
    const slot = this.slot(ident);
    const effect = parts[3] || '';
    const id = effectId(effect);
    if (effect.startsWith('ability: ')) reveal.learnAbility(this, ident, id);
    if (effect.startsWith('item: ')) reveal.noticeItem(this, this.mon(ident), id);
    if (!slot) return;
    if (id === 'commander') {
      const host = this.slot(reveal.holderOf(parts) || ident);
      slot.volatiles.commanding = 1;
      if (host) host.volatiles.commanded = 1;
    } else if (effect.startsWith('move: ') && this.dex.moves.get(id).volatileStatus === 'partiallytrapped') {
      slot.volatiles.partiallytrapped = 1;
    } else if (id === 'feint' || parts.includes('[broken]')) {
      slot.protects = slot.stall = 0;
    } else if (id === 'skillswap') {
      reveal.swapAbilities(this, ident, parts);
    } else if (id === 'mummy' || id === 'lingeringaroma') {
      this.infect(parts, id);
    } else if (id === 'symbiosis') {
      reveal.loseItem(this, slot.mon, toID(parts[4]));
      reveal.learnItem(this.mon(reveal.holderOf(parts)), toID(parts[4]));
    } else if (id === 'spite' || id === 'eeriespell') {
      this.spend(slot, toID(parts[4]), Number(parts[5]));
    } else if (id === 'leppaberry' || id === 'mysteryberry') {
      this.spend(slot, toID(parts[4]), -10);
    }
  }

  // "-activate|holder|ability: Mummy|victim|[ability] old".
  infect(parts, id) {
    const victim = this.slot(parts[4] || '');
    const old = reveal.taggedWith(parts, '[ability] ');
    if (!victim || !victim.mon || !old) return;
    reveal.learnAbility(this, parts[4], toID(old));
    reveal.borrowAbility(victim, id);
  }

  // A guard worked: the next one is less likely to.
  guarded(slot) {
    slot.protects++;
    slot.stall = STALL_UPKEEPS;
  }

  faint(ident) {
    const slot = this.slot(ident);
    const mon = this.mon(ident);
    if (mon) Object.assign(mon, {fainted: true, hp: 0, status: '', statusTurns: 0, terastallized: false});
    if (!slot) return;
    for (const other of this.side(ident).slots) delete other.volatiles.commanding; // its host stays trapped
    slot.clear();
  }

  upkeep() {
    this.upkeeps++;
    for (const team of this.teams) {
      for (const slot of team.slots) {
        if (slot.stall && !--slot.stall) slot.protects = 0;
        if (slot.mon && slot.mon.status === 'tox') slot.mon.statusTurns++;
      }
    }
  }

  nextTurn(number) {
    this.turn = number;
    for (const team of this.teams) {
      for (const slot of team.slots) {
        if (!slot.mon || slot.mon.fainted) continue;
        slot.turns++;
        for (const id of ONE_TURN) delete slot.volatiles[id];
      }
    }
  }

  copyInto(ident, target) {
    const slot = this.slot(ident);
    const model = this.slot(target);
    if (!slot || !model || !model.mon) return;
    slot.copied = model.mon;
    slot.copiedUsed = new Map();
    reveal.borrowAbility(slot, reveal.currentAbility(model));
    slot.species = model.species || model.mon.species;
    slot.types = model.types;
    slot.boosts.set(model.boosts);
  }

  health(ident, text) {
    const mon = this.mon(ident);
    if (!mon) return;
    this.condition(mon, text);
    if (mon.hp > 0) mon.fainted = false; // Revival Blessing
  }

  startField(id) {
    if (id.endsWith('terrain')) {
      for (const other of Object.keys(this.fields)) if (other.endsWith('terrain')) delete this.fields[other];
    }
    this.fields[id] = this.upkeeps;
  }
}

module.exports = {Tracker};
