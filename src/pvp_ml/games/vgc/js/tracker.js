// What everybody has seen of a battle: the public half of the log, read line by line.
//
// A seat's view is this plus that seat's own request, so a view cannot hold what the seat has not been shown. Of a
// split line only the shared half is read; the simulator's state is never touched.
'use strict';

const {Teams, toID} = require('./simulator');
const {Mon, TeamKnowledge, STATS, STAT_INDEX, effectId} = require('./knowledge');
const {LINES} = require('./lines');

const ONE_TURN = ['protect', 'endure', 'helpinghand', 'followme', 'ragepowder', 'wideguard', 'quickguard', 'roost'];
// Announced by the names of its two halves.
const DOUBLE_ABILITIES = {
  calyrexice: {name: 'asoneglastrier', parts: ['unnerve', 'chillingneigh']},
  calyrexshadow: {name: 'asonespectrier', parts: ['unnerve', 'grimneigh']},
};
const BATON_PASSED = new Set(['substitute', 'confusion', 'leechseed', 'focusenergy', 'aquaring', 'ingrain', 'perish',
  'magnetrise', 'curse', 'embargo', 'healblock']);

class Tracker {
  constructor(dex) {
    this.dex = dex;
    this.teams = [new TeamKnowledge(), new TeamKnowledge()];
    this.turn = 0;
    this.weather = '';
    this.weatherTurn = 0;
    this.fields = Object.create(null); // id → turn of its start
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
    if (text.includes('[from]')) this.reveal(parts);
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
    const mon = this.identify(ident, details);
    const passed = tags.includes('[from] Baton Pass') ? BATON_PASSED :
      tags.includes('[from] Shed Tail') ? new Set(['substitute']) : null;
    const kept = passed ? Object.entries(slot.volatiles).filter(([id]) => passed.has(id)) : [];
    const boosts = passed === BATON_PASSED ? slot.boosts.slice() : null;
    slot.clear();
    if (boosts) slot.boosts.set(boosts);
    for (const [id, value] of kept) slot.volatiles[id] = value;
    slot.before = {mon, hp: mon.hp, status: mon.status, shown: mon.shown};
    slot.mon = mon;
    mon.shown = true;
    mon.fainted = false;
    this.condition(mon, condition);
  }

  // An illusion ended: what was learnt since the entrance belongs to the unmasked Pokémon.
  unmask(ident, details, condition) {
    const slot = this.slot(ident);
    const shown = slot.mon;
    const {hp, status} = shown;
    if (slot.before && slot.before.mon === shown) Object.assign(shown, {hp: slot.before.hp, status: slot.before.status, shown: slot.before.shown});
    const real = this.identify(ident, details);
    Object.assign(real, {hp, status, shown: true});
    slot.mon = real;
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

  // A second ability of the same Pokémon is borrowed and lasts until it leaves the field.
  learnAbility(ident, id) {
    const mon = this.mon(ident);
    const slot = this.slot(ident);
    if (!mon || !id) return;
    const double = DOUBLE_ABILITIES[mon.species.id];
    if (double && (id === 'asone' || double.parts.includes(id))) id = double.name;
    if (slot && (slot.copied || (mon.abilityKnown && mon.ability !== id))) slot.ability = id;
    else Object.assign(mon, {ability: id, abilityKnown: true});
  }

  // A new forme has its own ability for good.
  replaceAbility(ident, id) {
    const slot = this.slot(ident);
    Object.assign(this.mon(ident), {ability: id, abilityKnown: true});
    if (slot) slot.ability = '';
  }

  learnItem(mon, id) {
    if (mon) Object.assign(mon, {item: id, itemKnown: true});
  }

  // "[from] ability: X|[of] p1a: Y" and the like tell whose ability or item acted.
  reveal(parts) {
    const from = parts.find(part => part.startsWith('[from] ')).slice(7);
    const isAbility = from.startsWith('ability: ');
    if (!isAbility && !from.startsWith('item: ')) return;
    const of = parts.find(part => part.startsWith('[of] '));
    const self = /^p[12][ab]?: /.test(parts[2] || '') ? parts[2] : '';
    const tag = parts[1];
    const id = effectId(from);
    // An absorbing ability heals its holder although the line credits the attacker.
    const owner = of && !(tag === '-heal' && isAbility && id !== 'hospitality') ? of.slice(5) : self;
    if (!owner || !this.side(owner)) return;
    if (isAbility) {
      if (id !== 'trace' || tag !== '-ability') this.learnAbility(owner, id);
    } else if (tag !== '-enditem' && tag !== '-item') {
      this.learnItem(this.mon(owner), id);
    }
  }

  usedMove(parts, ident) {
    const slot = this.slot(ident);
    if (!slot || !slot.mon) return;
    const id = toID(parts[3]);
    const move = this.dex.moves.get(id);
    delete slot.volatiles.twoturn;
    delete slot.volatiles.glaiverush;
    delete slot.volatiles.destinybond;
    slot.lastMove = id;
    slot.protects = move.stallingMove ? slot.protects + 1 : 0;
    if (id === 'struggle' || parts.some(part => part.startsWith('[from]'))) return;
    this.learnMove(slot.mon, slot, id);
    const target = parts[4] && /^p[12][ab]: /.test(parts[4]) && parts[4][1] !== ident[1] ? this.mon(parts[4]) : null;
    const cost = target && target.abilityKnown && target.ability === 'pressure' ? 2 : 1;
    if (!slot.copied) slot.mon.used.set(id, (slot.mon.used.get(id) || 0) + cost);
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
    if (effect.startsWith('ability: ')) this.learnAbility(ident, id);
    if (effect.startsWith('item: ')) this.learnItem(this.mon(ident), id);
    if (!slot) return;
    if (id === 'commander') {
      const host = this.slot((parts.find(part => part.startsWith('[of] ')) || '').slice(5) || ident);
      slot.volatiles.commanding = 1;
      if (host) host.volatiles.commanded = 1;
    } else if (effect.startsWith('move: ') && this.dex.moves.get(id).volatileStatus === 'partiallytrapped') {
      slot.volatiles.partiallytrapped = 1;
    } else if (id === 'skillswap') {
      this.swapAbilities(ident, parts);
    }
  }

  // Between allies nothing is announced; between foes the line names both abilities.
  swapAbilities(ident, parts) {
    const of = parts.find(part => part.startsWith('[of] '));
    if (!of || !parts[4] || parts[4][0] === '[') return;
    this.learnAbility(ident, toID(parts[4]));
    this.learnAbility(of.slice(5), toID(parts[5]));
  }

  faint(ident) {
    const slot = this.slot(ident);
    const mon = this.mon(ident);
    if (mon) Object.assign(mon, {fainted: true, hp: 0, status: '', terastallized: false});
    if (!slot) return;
    for (const other of this.side(ident).slots) {
      delete other.volatiles.commanding;
      delete other.volatiles.commanded;
    }
    slot.volatiles = Object.create(null);
    slot.boosts.fill(0);
  }

  nextTurn(number) {
    this.turn = number;
    for (const team of this.teams) {
      for (const slot of team.slots) {
        if (!slot.mon || slot.mon.fainted) continue;
        slot.turns++;
        for (const id of ONE_TURN) delete slot.volatiles[id];
        if (slot.mon.status === 'tox') slot.mon.statusTurns++;
      }
    }
  }

  copyInto(ident, target) {
    const slot = this.slot(ident);
    const model = this.slot(target);
    if (!slot || !model || !model.mon) return;
    slot.copied = model.mon;
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
    this.fields[id] = this.turn;
  }
}

module.exports = {Tracker};
