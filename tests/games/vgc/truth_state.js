// What an observation should say, computed from the simulator's state and the plain text of the public log, sharing no
// code with the tracker. Facts that a seat cannot know yet are expected to be "unknown".
'use strict';

const toID = text => String(text || '').toLowerCase().replace(/[^a-z0-9]+/g, '');
const STATS = ['atk', 'def', 'spa', 'spd', 'spe', 'accuracy', 'evasion'];
const STATUSES = ['brn', 'par', 'psn', 'tox', 'slp', 'frz'];
const UNKNOWN = 0;
const cap = (value, top) => Math.min(Math.max(value, 0), top) / top;

// Feature → names in the simulator's volatiles.
const VOLATILES = {
  confusion: ['confusion'], substitute: ['substitute'], leechseed: ['leechseed'], taunt: ['taunt'], encore: ['encore'],
  disable: ['disable'], torment: ['torment'], healblock: ['healblock'], yawn: ['yawn'], attract: ['attract'],
  focusenergy: ['focusenergy', 'dragoncheer'], curse: ['curse'], saltcure: ['saltcure'],
  partiallytrapped: ['partiallytrapped'], flashfire: ['flashfire'], charge: ['charge'], smackdown: ['smackdown'],
  magnetrise: ['magnetrise'], aquaring: ['aquaring'], ingrain: ['ingrain'], imprison: ['imprison'],
  throatchop: ['throatchop'], syrupbomb: ['syrupbomb'], protosynthesis: ['protosynthesis'], quarkdrive: ['quarkdrive'],
  slowstart: ['slowstart'], noretreat: ['noretreat'], octolock: ['octolock'], twoturn: ['twoturnmove'],
  mustrecharge: ['mustrecharge'], destinybond: ['destinybond'], glaiverush: ['glaiverush'], commanding: ['commanding'],
  commanded: ['commanded'],
};

// What the comparison keeps beside the battle: all twelve Pokémon, who was shown, who used a gimmick, how long effects last.
class World {
  constructor(battle, idOf) {
    this.battle = battle;
    this.id = idOf;
    this.all = battle.sides.map(side => [...side.pokemon]); // in the order of team preview
    this.abilities = new Map(battle.getAllPokemon().map(mon => [mon, new Set(Object.values(mon.species.abilities).map(toID))]));
    this.illusions = this.all.map(mons => mons.some(mon => mon.baseAbility === 'illusion'));
    this.durations = new Map(); // state object of an effect → its duration at the start
    this.shown = new Set();
    this.gimmick = [0, 0]; // by side
    this.transformers = new Set();
    this.pressed = new Set(); // may have lost PP unseen
    this.lines = [];
    this.read = 0;
    this.watchDurations();
  }

  // Called before every decision; a Pokémon can come and go between two decisions, so entrances are read from the log.
  update() {
    const {battle} = this;
    const log = battle.log;
    for (; this.read < log.length; this.read++) {
      if (log[this.read].startsWith('|split|')) this.read += 2; // of a split line, the half that everybody sees
      if (log[this.read]) this.lines.push(log[this.read]);
    }
    for (const line of this.lines) {
      const named = /^\|(?:switch|drag|replace)\|(p\d)[ab]: ([^|]*)\|/.exec(line);
      if (/^\|-(terastallize|mega)\|/.test(line)) this.gimmick[Number(line.split('|')[2][1]) - 1] = 1;
      // A move that fails at once is shown without its target, so nobody sees whether Pressure took a second point.
      const still = /^\|move\|(p\d)[ab]: ([^|]*)\|[^|]*\|\|.*\[still\]/.exec(line);
      if (still && this.lines.some(other => other.endsWith('|Pressure'))) {
        this.pressed.add(this.all[Number(still[1][1]) - 1].find(mon => mon.name === still[2]));
      }
      if (named) this.shown.add(this.all[Number(named[1][1]) - 1].find(mon => mon.name === named[2]));
    }
    for (const mon of this.all.flat()) if (mon.transformed) this.transformers.add(mon);
  }

  // Turns that have passed for an effect of the field or a side: its first duration less what is left.
  elapsed(state) {
    return cap((this.durations.get(state) ?? NaN) - state.duration, 8);
  }

  // Notes how long each effect was meant to last when it began.
  watchDurations() {
    const {battle, durations} = this;
    const note = states => {
      for (const state of states) if (state.duration && !durations.has(state)) durations.set(state, state.duration);
    };
    const wrap = (owner, method, states) => {
      const original = owner[method];
      owner[method] = (...given) => {
        const result = original.apply(owner, given);
        note(states());
        return result;
      };
    };
    wrap(battle.field, 'setWeather', () => [battle.field.weatherState]);
    wrap(battle.field, 'setTerrain', () => [battle.field.terrainState]);
    wrap(battle.field, 'addPseudoWeather', () => Object.values(battle.field.pseudoWeather));
    for (const side of battle.sides) wrap(side, 'addSideCondition', () => Object.values(side.sideConditions));
  }
}

function expectedGlobal(world, plan) {
  const {field, turn, requestState} = world.battle;
  const pseudo = field.pseudoWeather;
  const expected = {
    format: world.id('format', plan.format), at_preview: requestState === 'teampreview' ? 1 : 0,
    at_turn: requestState === 'move' ? 1 : 0, at_forced_switch: requestState === 'switch' ? 1 : 0,
    turn: cap(turn, 20), trick_room: pseudo.trickroom ? 1 : 0, gravity: pseudo.gravity ? 1 : 0,
    wonder_room: pseudo.wonderroom ? 1 : 0, magic_room: pseudo.magicroom ? 1 : 0, fairy_lock: pseudo.fairylock ? 1 : 0,
    sheets_open: plan.sheets === 'open' ? 1 : 0, weather: world.id('weather', field.weather),
    terrain: world.id('terrain', field.terrain),
  };
  expected.trick_room_turns = pseudo.trickroom ? world.elapsed(pseudo.trickroom) : 0;
  if (!field.weather) expected.weather_turns = 0;
  else if (field.weatherState.duration) expected.weather_turns = world.elapsed(field.weatherState);
  expected.terrain_turns = field.terrain ? world.elapsed(field.terrainState) : 0;
  return expected;
}

function expectedSides(world, seat) {
  const {sides} = world.battle;
  return [sides[seat], sides[1 - seat]].map(side => {
    const conditions = side.sideConditions;
    const all = world.all[side.n];
    const has = id => conditions[id] ? 1 : 0;
    const expected = {
      safeguard: has('safeguard'), mist: has('mist'), stealthrock: has('stealthrock'), stickyweb: has('stickyweb'),
      spikes: conditions.spikes ? conditions.spikes.layers / 3 : 0,
      toxicspikes: conditions.toxicspikes ? conditions.toxicspikes.layers / 2 : 0,
      fainted: all.filter(mon => mon.fainted).length / 4, gimmick_used: world.gimmick[side.n],
    };
    if (!world.illusions[side.n]) expected.shown = Math.min(all.filter(mon => world.shown.has(mon)).length, 4) / 4;
    for (const id of ['tailwind', 'reflect', 'lightscreen', 'auroraveil']) {
      expected[id] = has(id);
      expected[`${id}_turns`] = conditions[id] ? world.elapsed(conditions[id]) : 0;
    }
    return expected;
  });
}

// The seat's two places: who has to choose, and what is offered.
function expectedSlots(world, seat) {
  const {active} = world.battle.sides[seat];
  const state = world.battle.requestState;
  return [0, 1].map(place => {
    const mon = active[place];
    if (state === 'teampreview' || !mon) return {must_choose: 0, forced_switch: 0, trapped: 0, can_terastallize: 0, can_mega: 0};
    if (state === 'switch') return {must_choose: mon.switchFlag ? 1 : 0, forced_switch: mon.switchFlag ? 1 : 0, trapped: 0};
    const chooses = !mon.fainted && !mon.volatiles.commanding;
    const isFree = !mon.getLockedMove() && mon.moveSlots.some(slot => slot.pp > 0 && !slot.disabled); // else Struggle
    const offered = offer => chooses && offer && isFree ? 1 : 0;
    const hasTera = mon.side.pokemon.some(other => other.terastallized);
    return {
      must_choose: chooses ? 1 : 0, forced_switch: 0, reviving: 0, can_terastallize: offered(mon.canTerastallize && !hasTera),
      can_mega: offered(mon.canMegaEvo || mon.canMegaEvoX || mon.canMegaEvoY), trapped: !isFree || !mon.battle.canSwitch(mon.side) ? [0, 1] : [offered(mon.trapped === true), offered(mon.trapped)],
    };
  });
}

// Rows of `attacks` or `threats`: four moves of each of two Pokémon.
function expectedAttacks(world, active, rows) {
  const expected = [];
  [0, 1].forEach(place => {
    const mon = world.lines.includes('|start') && active[place] && !active[place].fainted ? active[place] : null;
    const row = mon && rows.find(({expected: facts, mon: name}) => name === mon.name && facts[place ? 'on_right' : 'on_left'] === 1);
    for (let i = 0; i < 4; i++) {
      if (mon && !row) continue; // an illusion
      const known = row && row.expected[`move_${i + 1}`];
      if (!mon || known !== undefined) expected.push({row: 4 * place + i, expected: {move: mon ? known : 0}});
    }
  });
  return expected;
}

// What the simulator shows of a Pokémon: an illusion shows another one.
const shownAs = mon => mon.illusion || mon;

// Facts of a Pokémon on the field that everybody sees.
function fieldFacts(mon, id) {
  const facts = {last_move: id('moves', mon.lastMoveUsed ? mon.lastMoveUsed.id : '')};
  STATS.forEach(stat => { facts[`boost_${stat}`] = mon.boosts[stat] / 6; });
  for (const [feature, names] of Object.entries(VOLATILES)) facts[feature] = names.some(name => mon.volatiles[name]) ? 1 : 0;
  const charged = mon.volatiles.twoturnmove; // stays until the end of the turn in which the move comes
  facts.twoturn = charged && mon.volatiles[charged.move] ? 1 : 0;
  if (mon.ability === 'slowstart') facts.slowstart = mon.abilityState.counter ? 1 : 0;
  facts.turns_on_field = cap(mon.activeTurns, 8);
  facts.protects = mon.volatiles.stall ? cap(Math.round(Math.log(mon.volatiles.stall.counter) / Math.log(3)), 3) : 0;
  facts.perish = mon.volatiles.perishsong ? (4 - mon.volatiles.perishsong.duration) / 4 : 0;
  facts.transformed = mon.transformed ? 1 : 0;
  return facts;
}

function statusFacts(mon) {
  const facts = {};
  for (const status of STATUSES) facts[status] = !mon.fainted && mon.status === status ? 1 : 0;
  if (mon.status === 'tox' && !mon.fainted) facts.status_turns = cap(mon.statusState.stage, 8);
  if (mon.status === 'slp' && !mon.fainted) facts.status_turns = cap(mon.statusState.startTime - mon.statusState.time, 8);
  return facts;
}

function typeFacts(mon, id) {
  const types = mon.getTypes().map(toID);
  return {type_1: id('types', types[0]), type_2: id('types', types[1] || '')};
}

function formFacts(mon, id) {
  const terastallized = mon.terastallized && !mon.fainted;
  return {
    known: 1, fainted: mon.fainted ? 1 : 0, level: mon.level / 100, terastallized: terastallized ? 1 : 0,
    mega: mon.species.isMega ? 1 : 0, species: id('species', mon.species.id) || id('species', toID(mon.species.baseSpecies)),
  };
}

// Rows 0…5: the seat's own, in the order of its list.
function ownRows(world, seat, id) {
  const side = world.battle.sides[seat];
  const home = world.all[seat].filter(mon => !side.pokemon.includes(mon));
  const started = world.lines.includes('|start'); // leads may have to be replaced before turn 1
  return [...side.pokemon, ...home].map((mon, row) => {
    const active = mon.isActive && !mon.fainted;
    const slots = mon.moveSlots;
    const expected = {
      ...formFacts(mon, id), ...statusFacts(mon), ...typeFacts(mon, id),
      on_left: started && side.active[0] === mon ? 1 : 0, on_right: started && side.active[1] === mon ? 1 : 0,
      hp: mon.hp / mon.maxhp, item: id('items', mon.item), ability: id('abilities', mon.ability),
      ability_known: 1, item_known: 1, stats_exact: 1, selected: started && side.pokemon.includes(mon) ? 1 : 0,
      stat_hp: mon.maxhp / 200,
    };
    for (const stat of ['atk', 'def', 'spa', 'spd', 'spe']) expected[`stat_${stat}`] = mon.baseStoredStats[stat] / 200;
    if (mon.teraType && mon.battle.dex.currentMod === 'gen9') expected.tera_type = id('types', toID(mon.teraType));
    slots.forEach((slot, i) => {
      expected[`move_${i + 1}`] = id('moves', slot.id);
      if (!world.illusions[seat] && !world.pressed.has(mon)) expected[`pp_${i + 1}`] = slot.pp / slot.maxpp;
      expected[`disabled_${i + 1}`] = disabledFact(world, mon, slot);
    });
    if (!world.illusions[seat]) expected.shown = world.shown.has(mon) ? 1 : 0;
    if (active) Object.assign(expected, fieldFacts(mon, id));
    return {row, mon: mon.name, expected};
  });
}

// Whether its owner is told that a move cannot be chosen. What a hidden cause forbids may be told or not; a Pokémon that is
// locked into one move is offered that one alone.
function disabledFact(world, mon, slot) {
  if (slot.disabled === 'hidden' || mon.getLockedMove() || mon.fainted) return [0, 1];
  if (world.battle.requestState !== 'move' || !mon.isActive) return 0;
  return slot.disabled || slot.pp <= 0 ? 1 : 0;
}

// Public lines about a Pokémon, by its ident.
function linesOf(world, mon) {
  const ident = new RegExp(`${mon.side.id}[ab]?: ${mon.name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(\\||$)`);
  return world.lines.filter(line => ident.test(line));
}

const sharedHp = mon => {
  if (!mon.hp) return 0;
  return parseFloat(mon.getHealth().shared) / 100;
};

// Rows 6…11: the two on the field first, the others in the order of team preview.
function foeRows(world, seat, plan, id) {
  const side = world.battle.sides[1 - seat];
  const started = world.lines.includes('|start'); // leads may have to be replaced before turn 1
  const active = started ? side.active.filter(Boolean) : [];
  const faces = active.map(shownAs);
  const bench = world.all[1 - seat].filter(mon => !faces.includes(mon));
  return [...active, ...bench].map((mon, i) => {
    const row = 6 + i;
    const onField = i < active.length;
    // Nobody can tell what a team with an illusion does behind it; what stands on the field is seen all the same.
    if (world.illusions[side.n]) {
      const face = shownAs(mon).species;
      const seen = {hp: sharedHp(mon), fainted: mon.fainted ? 1 : 0, species: id('species', face.id) || id('species', toID(face.baseSpecies))};
      return {row, mon: mon.name, expected: onField && !mon.fainted ? {...seen, ...fieldFacts(mon, id)} : {}};
    }
    const shown = world.shown.has(mon);
    const expected = {
      fainted: mon.fainted ? 1 : 0, hp: sharedHp(mon), stats_exact: 0, shown: shown ? 1 : 0, selected: shown ? 1 : 0,
      on_left: onField && mon.position === 0 ? 1 : 0, on_right: onField && mon.position === 1 ? 1 : 0, ...statusFacts(mon),
    };
    if (shown || (plan.sheets === 'open' && !isSwordOrShield(mon))) Object.assign(expected, formFacts(mon, id), typeFacts(mon, id));
    if (mon.baseAbility === 'regenerator' || world.transformers.has(mon)) expected.hp = regenerated(world, mon, onField);
    if (onField && !mon.fainted) Object.assign(expected, fieldFacts(mon, id));
    Object.assign(expected, plan.sheets === 'open' ? openFacts(world, mon, id) : closedFacts(world, mon, id));
    return {row, mon: mon.name, expected};
  });
}

// These two take their crowned forme when they enter; the sheet shows it at once.
const isSwordOrShield = mon => /^(zacian|zamazenta)$/.test(mon.species.id) && /^rusted/.test(mon.item);

// Regenerator is silent: what was last seen, or a third more when the ability is known. Shown HP is rounded.
function regenerated(world, mon, onField) {
  const exact = sharedHp(mon);
  if (onField || mon.fainted || exact === 0) return exact;
  const own = linesOf(world, mon).filter(line => line.split('|')[2].startsWith(mon.side.id) && line.split('|')[2].endsWith(`: ${mon.name}`));
  const shown = own.map(line => /\|(\d+)\/100/.exec(line)).filter(Boolean).pop();
  const seen = shown ? Number(shown[1]) / 100 : 1;
  return [exact, seen, Math.min(1, seen + 1 / 3)];
}

function openFacts(world, mon, id) {
  const expected = {
    ability_known: 1, item_known: 1, ability: id('abilities', mon.ability), item: id('items', mon.item),
  };
  if (mon.teraType && mon.battle.dex.currentMod === 'gen9') {
    Object.assign(expected, {tera_known: 1, tera_type: id('types', toID(mon.teraType))});
  }
  if (!isSwordOrShield(mon)) mon.moveSlots.forEach((slot, i) => { expected[`move_${i + 1}`] = id('moves', slot.id); });
  if (!world.pressed.has(mon)) mon.moveSlots.forEach((slot, i) => { expected[`pp_${i + 1}`] = slot.pp / slot.maxpp; });
  return expected;
}

// With closed sheets a fact is known from the first public line that names it beside its holder.
function closedFacts(world, mon, id) {
  const lines = linesOf(world, mon);
  const expected = {tera_known: lines.some(line => line.startsWith('|-terastallize|')) ? 1 : 0};
  if (world.illusions[mon.side.n]) return expected; // lines of a disguised Pokémon carry another one's name
  const about = line => line.split('|')[2].endsWith(`: ${mon.name}`) && line.split('|')[2].startsWith(mon.side.id);
  const truth = id('abilities', mon.ability);
  const swapped = lines.some(line => line.includes('Skill Swap'));
  if (world.abilities.get(mon).size === 1 && !swapped) Object.assign(expected, {ability_known: 1, ability: truth});
  else if (!swapped && lines.some(line => line.startsWith('|-ability|') && about(line))) Object.assign(expected, {ability_known: 1, ability: truth});
  else if (lines.some(line => /ability: |detailschange|Skill Swap|Entrainment/.test(line))) expected.ability = [UNKNOWN, truth];
  else Object.assign(expected, {ability_known: 0, ability: UNKNOWN});
  const item = id('items', mon.item);
  if (lines.some(line => /^\|-(end)?item\|/.test(line) && about(line))) Object.assign(expected, {item_known: 1, item});
  else if (lines.some(line => /item: |item\||^\|-mega\|/.test(line))) expected.item = [UNKNOWN, item];
  else Object.assign(expected, {item_known: 0, item: UNKNOWN});
  if (!world.transformers.has(mon)) Object.assign(expected, usedMoves(lines, mon, id));
  return expected;
}

// Moves in the order of their first use; one that another move or ability called does not count.
function usedMoves(lines, mon, id) {
  const used = [];
  for (const line of lines) {
    const [, kind, ident, name, move] = line.split('|');
    if (!ident.endsWith(`: ${mon.name}`) || ident.slice(0, 2) !== mon.side.id) continue;
    // One Round makes the next come at once: called, but a choice of its own.
    const own = !line.includes('[from]') || line.includes(`[from] move: ${name}`);
    if (kind === 'move' && own && name !== 'Struggle') used.push(toID(name));
    if (kind === 'cant' && move && !name.startsWith('ability: ')) used.push(toID(move));
  }
  const different = [...new Set(used)];
  return Object.fromEntries([0, 1, 2, 3].map(i => [`move_${i + 1}`, different[i] ? id('moves', different[i]) : UNKNOWN]));
}

function expectedRows(world, seat, plan) {
  return [...ownRows(world, seat, world.id), ...foeRows(world, seat, plan, world.id)];
}

module.exports = {World, expectedRows, expectedGlobal, expectedSides, expectedSlots, expectedAttacks};
