// A perspective as numbers: fills one seat's observation, laid out as layout.json says.
'use strict';

const {toID} = require('../simulator');
const {estimate, factsOf} = require('./damage');
const {isFainted} = require('../legal');
const {blocks, idOf, size, privilegedSize, UNKNOWN_ID} = require('./layout');
const {bestShare, duels, fieldFor, speedOf, standing, threatTo} = require('./matchups');
const {NAMES: TRAIT_NAMES, traitsOf} = require('./move_traits');

const MON = blocks.pokemon.place;
const MON_WIDTH = blocks.pokemon.width;
const GLOBAL = blocks.global.place;
const SLOT = blocks.slot.place;
const SIDE = blocks.side.place;
const ATTACK = blocks.attacks.place;
const TRAITS = TRAIT_NAMES.map(name => ATTACK[name]);
const OWN_ROWS = 6;

const STATUSES = new Map(['brn', 'par', 'psn', 'tox', 'slp', 'frz'].map(id => [id, MON[id]]));
const VOLATILES = new Map(Object.keys(MON).slice(Object.keys(MON).indexOf('confusion')).map(id => [id, MON[id]]));
const BOOSTS = ['atk', 'def', 'spa', 'spd', 'spe', 'accuracy', 'evasion'].map(stat => MON[`boost_${stat}`]);
const STATS = ['hp', 'atk', 'def', 'spa', 'spd', 'spe'].map(stat => MON[`stat_${stat}`]);
const MOVES = [1, 2, 3, 4].map(n => ({id: MON[`move_${n}`], pp: MON[`pp_${n}`], disabled: MON[`disabled_${n}`]}));
const LASTING = ['tailwind', 'reflect', 'lightscreen', 'auroraveil'];
const PRESENT = ['safeguard', 'mist', 'stealthrock', 'stickyweb'];
const MAX_TURNS = 8; // screens and weather with their item
const STAT_SCALE = 200;
const LONG_TURNS = 20;
const MOST_DAMAGE = 2; // shares of full HP above this are all the same

const speciesNumbers = new Map();

function speciesId(species) {
  let number = speciesNumbers.get(species);
  if (number === undefined) {
    number = idOf('species', species.id) || idOf('species', toID(species.baseSpecies));
    speciesNumbers.set(species, number);
  }
  return number;
}

function writeIds(out, at, mon) {
  out[at + MON.species] = speciesId(mon.species);
  out[at + MON.ability] = mon.abilityKnown ? idOf('abilities', mon.ability) : UNKNOWN_ID;
  out[at + MON.item] = mon.itemKnown ? idOf('items', mon.item) : UNKNOWN_ID;
  out[at + MON.type_1] = idOf('types', mon.types[0]);
  out[at + MON.type_2] = idOf('types', mon.types[1]);
  out[at + MON.tera_type] = mon.teraKnown ? idOf('types', mon.tera) : UNKNOWN_ID;
  out[at + MON.last_move] = idOf('moves', mon.lastMove);
  for (let i = 0; i < 4; i++) {
    const move = mon.moves[i];
    const place = MOVES[i];
    if (!move) continue; // an own Pokémon may have fewer than four moves; a foe's may be unknown
    out[at + place.id] = idOf('moves', move.id);
    out[at + place.pp] = move.pp;
    out[at + place.disabled] = move.disabled ? 1 : 0;
  }
}

function writeMon(out, at, mon) {
  writeIds(out, at, mon);
  out[at + MON.known] = 1;
  out[at + MON.on_left] = mon.slot === 0 ? 1 : 0;
  out[at + MON.on_right] = mon.slot === 1 ? 1 : 0;
  out[at + MON.fainted] = mon.fainted ? 1 : 0;
  out[at + MON.shown] = mon.shown ? 1 : 0;
  out[at + MON.selected] = mon.selected ? 1 : 0;
  out[at + MON.ability_known] = mon.abilityKnown ? 1 : 0;
  out[at + MON.item_known] = mon.itemKnown ? 1 : 0;
  out[at + MON.tera_known] = mon.teraKnown ? 1 : 0;
  out[at + MON.stats_exact] = mon.exact ? 1 : 0;
  out[at + MON.terastallized] = mon.terastallized ? 1 : 0;
  out[at + MON.mega] = mon.mega ? 1 : 0;
  out[at + MON.transformed] = mon.transformed ? 1 : 0;
  out[at + MON.hp] = mon.hp;
  out[at + MON.level] = mon.level / 100;
  for (let i = 0; i < 6; i++) out[at + STATS[i]] = mon.stats[i] / STAT_SCALE;
  for (let i = 0; i < 7; i++) out[at + BOOSTS[i]] = mon.boosts[i] / 6;
  const status = STATUSES.get(mon.status);
  if (status !== undefined) out[at + status] = 1;
  out[at + MON.status_turns] = Math.min(Math.max(mon.statusTurns, 0), MAX_TURNS) / MAX_TURNS;
  out[at + MON.turns_on_field] = Math.min(mon.turns, MAX_TURNS) / MAX_TURNS;
  out[at + MON.protects] = Math.min(mon.protects, 3) / 3;
  out[at + MON.perish] = mon.volatiles.perish === undefined ? 0 : (4 - mon.volatiles.perish) / 4;
  if (mon.slot < 0) return;
  for (const id in mon.volatiles) {
    const place = VOLATILES.get(id);
    if (place !== undefined && mon.volatiles[id]) out[at + place] = 1;
  }
}

function writeGlobal(out, at, view, format) {
  const {tracker, request} = view;
  const since = start => Math.min(tracker.upkeeps - start, MAX_TURNS) / MAX_TURNS;
  const terrain = tracker.terrain;
  out[at + GLOBAL.format] = idOf('format', format);
  out[at + GLOBAL.weather] = idOf('weather', tracker.weather);
  out[at + GLOBAL.terrain] = idOf('terrain', terrain);
  out[at + GLOBAL.at_preview] = request.teamPreview ? 1 : 0;
  out[at + GLOBAL.at_turn] = request.active ? 1 : 0;
  out[at + GLOBAL.at_forced_switch] = request.forceSwitch ? 1 : 0;
  out[at + GLOBAL.sheets_open] = view.foeTeam.sheetShown ? 1 : 0;
  out[at + GLOBAL.turn] = Math.min(tracker.turn, LONG_TURNS) / LONG_TURNS;
  if (tracker.weather) out[at + GLOBAL.weather_turns] = since(tracker.weatherSince);
  if (terrain) out[at + GLOBAL.terrain_turns] = since(tracker.fields[terrain]);
  if ('trickroom' in tracker.fields) {
    out[at + GLOBAL.trick_room] = 1;
    out[at + GLOBAL.trick_room_turns] = since(tracker.fields.trickroom);
  }
  out[at + GLOBAL.gravity] = 'gravity' in tracker.fields ? 1 : 0;
  out[at + GLOBAL.wonder_room] = 'wonderroom' in tracker.fields ? 1 : 0;
  out[at + GLOBAL.magic_room] = 'magicroom' in tracker.fields ? 1 : 0;
  out[at + GLOBAL.fairy_lock] = 'fairylock' in tracker.fields ? 1 : 0;
}

// What the foes' best known attacks do to the Pokémon in this place, as it is and after terastallising.
function writeThreat(out, at, view, slot) {
  const mon = view.ownActive[slot];
  if (!mon) return;
  out[at + SLOT.threat] = Math.min(threatTo(view, mon), MOST_DAMAGE);
  const tera = view.request.active[slot].canTerastallize && mon.tera && mon.tera !== 'stellar';
  out[at + SLOT.threat_tera] = tera ?
    Math.min(threatTo(view, {...mon, types: [mon.tera], terastallized: true}), MOST_DAMAGE) : out[at + SLOT.threat];
}

function writeSlot(out, at, view, slot) {
  const request = view.request;
  const entry = request.side.pokemon[slot];
  const active = request.active && request.active[slot];
  if (request.forceSwitch) {
    out[at + SLOT.must_choose] = out[at + SLOT.forced_switch] = request.forceSwitch[slot] ? 1 : 0;
    out[at + SLOT.reviving] = entry && entry.reviving ? 1 : 0;
  } else if (active && entry && !isFainted(entry) && !entry.commanding) {
    out[at + SLOT.must_choose] = 1;
    out[at + SLOT.trapped] = active.trapped ? 1 : 0;
    out[at + SLOT.maybe_trapped] = active.maybeTrapped ? 1 : 0;
    out[at + SLOT.can_terastallize] = active.canTerastallize ? 1 : 0;
    out[at + SLOT.can_mega] = active.canMegaEvo || active.canMegaEvoX || active.canMegaEvoY ? 1 : 0;
    out[at + SLOT.locked] = active.moves.length === 1 && entry.moves.length > 1 ? 1 : 0;
    writeThreat(out, at, view, slot);
  }
}

function writeSide(out, at, team, upkeeps) {
  const conditions = team.conditions;
  for (const id of LASTING) {
    if (!conditions[id]) continue;
    out[at + SIDE[id]] = 1;
    out[at + SIDE[`${id}_turns`]] = Math.min(upkeeps - conditions[id].since, MAX_TURNS) / MAX_TURNS;
  }
  for (const id of PRESENT) if (conditions[id]) out[at + SIDE[id]] = 1;
  out[at + SIDE.spikes] = conditions.spikes ? conditions.spikes.layers / 3 : 0;
  out[at + SIDE.toxicspikes] = conditions.toxicspikes ? conditions.toxicspikes.layers / 2 : 0;
  out[at + SIDE.gimmick_used] = team.gimmickUsed ? 1 : 0;
  out[at + SIDE.fainted] = team.fainted / 4;
  out[at + SIDE.shown] = Math.min(team.mons.filter(mon => mon.shown).length, 4) / 4;
}

// `turnsInto`: the type that the attacker can terastallise to now, or ''.
function writeAttack(out, at, dex, attacker, move, targets, ally, field, turnsInto) {
  const facts = factsOf(dex, move.id);
  out[at + ATTACK.move] = idOf('moves', move.id);
  out[at + ATTACK.type] = idOf('types', facts.type);
  out[at + ATTACK.usable] = move.disabled || move.pp <= 0 ? 0 : 1;
  out[at + ATTACK.physical] = facts.category === 'Physical' ? 1 : 0;
  out[at + ATTACK.special] = facts.category === 'Special' ? 1 : 0;
  out[at + ATTACK.spread] = facts.spread ? 1 : 0;
  out[at + ATTACK.power] = facts.power * facts.hits / 100;
  out[at + ATTACK.accuracy] = facts.accuracy;
  out[at + ATTACK.priority] = facts.priority / 5;
  const traits = traitsOf(facts.move);
  for (let i = 0; i < traits.length; i++) out[at + TRAITS[i]] = traits[i];
  if (!facts.power) return;
  const tera = attacker.terastallized ? attacker.tera : '';
  for (let side = 0; side < 2; side++) {
    const target = targets[side];
    if (!target) continue;
    const {share, effect} = estimate(dex, facts, attacker, target, field, tera);
    out[at + (side ? ATTACK.damage_right : ATTACK.damage_left)] = Math.min(share, MOST_DAMAGE);
    out[at + (side ? ATTACK.effect_right : ATTACK.effect_left)] = effect / 4;
    out[at + (side ? ATTACK.knocks_out_right : ATTACK.knocks_out_left)] = share >= target.hp ? 1 : 0;
    if (turnsInto) {
      out[at + (side ? ATTACK.tera_right : ATTACK.tera_left)] =
        Math.min(estimate(dex, facts, attacker, target, field, turnsInto).share, MOST_DAMAGE);
    }
  }
  if (facts.hitsAlly && ally) out[at + ATTACK.damage_ally] = Math.min(estimate(dex, facts, attacker, ally, field, tera).share, MOST_DAMAGE);
}

function writeAttacks(out, block, dex, attackers, targets, field, turnsInto) {
  for (let slot = 0; slot < 2; slot++) {
    const attacker = attackers[slot];
    if (!attacker) continue;
    for (let i = 0; i < Math.min(attacker.moves.length, 4); i++) {
      const at = block.at + (slot * 4 + i) * block.width;
      writeAttack(out, at, dex, attacker, attacker.moves[i], targets, attackers[1 - slot], field, turnsInto[slot]);
    }
  }
}

const newType = (view, slot) => {
  const active = view.request.active && view.request.active[slot];
  return active && active.canTerastallize && view.ownActive[slot] ? view.ownActive[slot].tera : '';
};

const rowAt = row => blocks.pokemon.at + row * MON_WIDTH;

// At team preview: how each Pokémon fares against all six of the other side, as means.
function writeOutlook(out, view) {
  const {dex} = view.tracker;
  const deals = duels(dex, view.own, view.foes);
  const takes = duels(dex, view.foes, view.own);
  const mean = numbers => numbers.reduce((sum, number) => sum + number, 0) / (numbers.length || 1);
  view.own.forEach((mon, i) => {
    out[rowAt(i) + MON.deals_all] = mean(deals[i]);
    out[rowAt(i) + MON.takes_all] = mean(takes.map(row => row[i]));
  });
  view.foes.forEach((foe, j) => {
    out[rowAt(OWN_ROWS + j) + MON.deals_all] = mean(takes[j]);
    out[rowAt(OWN_ROWS + j) + MON.takes_all] = mean(deals.map(row => row[j]));
  });
}

// In battle: the best attack of each own Pokémon on each foe that stands, and the other way round.
function writeDuels(out, view) {
  const {dex} = view.tracker;
  const attacking = fieldFor(view, view.foeTeam, view.ownTeam, standing(view.foeActive));
  const attacked = fieldFor(view, view.ownTeam, view.foeTeam, standing(view.ownActive));
  view.own.forEach((mon, i) => {
    if (mon.fainted || !mon.selected) return;
    view.foeActive.forEach((foe, side) => {
      if (!foe) return;
      const deals = Math.min(bestShare(dex, mon, foe, attacking), MOST_DAMAGE);
      const takes = Math.min(bestShare(dex, foe, mon, attacked), MOST_DAMAGE);
      out[rowAt(i) + (side ? MON.deals_right : MON.deals_left)] = deals;
      out[rowAt(i) + (side ? MON.takes_right : MON.takes_left)] = takes;
      if (mon.slot < 0) return;
      const there = rowAt(OWN_ROWS + view.foes.indexOf(foe));
      out[there + (mon.slot ? MON.deals_right : MON.deals_left)] = takes;
      out[there + (mon.slot ? MON.takes_right : MON.takes_left)] = deals;
    });
  });
}

function writeMatchups(out, view) {
  const {tracker} = view;
  view.own.forEach((mon, i) => { out[rowAt(i) + MON.speed] = speedOf(tracker, view.ownTeam, mon) / STAT_SCALE; });
  view.foes.forEach((mon, i) => { out[rowAt(OWN_ROWS + i) + MON.speed] = speedOf(tracker, view.foeTeam, mon) / STAT_SCALE; });
  if (view.request.teamPreview) writeOutlook(out, view);
  else writeDuels(out, view);
}

// Fills `out` (Float32Array of `size`) with what the seat knows.
function writeObservation(out, view, format) {
  out.fill(0);
  const dex = view.tracker.dex;
  writeGlobal(out, blocks.global.at, view, format);
  for (let slot = 0; slot < 2; slot++) writeSlot(out, blocks.slot.at + slot * blocks.slot.width, view, slot);
  writeSide(out, blocks.side.at, view.ownTeam, view.tracker.upkeeps);
  writeSide(out, blocks.side.at + blocks.side.width, view.foeTeam, view.tracker.upkeeps);
  view.own.forEach((mon, i) => writeMon(out, blocks.pokemon.at + i * MON_WIDTH, mon));
  view.foes.forEach((mon, i) => writeMon(out, blocks.pokemon.at + (OWN_ROWS + i) * MON_WIDTH, mon));
  writeMatchups(out, view);
  writeAttacks(out, blocks.attacks, dex, view.ownActive, view.foeActive,
    fieldFor(view, view.foeTeam, view.ownTeam, standing(view.foeActive)), [0, 1].map(slot => newType(view, slot)));
  writeAttacks(out, blocks.threats, dex, view.foeActive, view.ownActive,
    fieldFor(view, view.ownTeam, view.foeTeam, standing(view.ownActive)), ['', '']);
}

// The privileged part of a seat is what the other seat knows of its own six.
function writePrivileged(out, otherView) {
  out.fill(0);
  otherView.own.forEach((mon, i) => writeMon(out, i * MON_WIDTH, mon));
}

module.exports = {writeObservation, writePrivileged, size, privilegedSize};
