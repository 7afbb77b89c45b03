// An estimate of the damage that a move does, from what a seat knows: the formula of the games with the modifiers that
// decide most turns. It is a number for bots and observations, not a rule: the simulator decides what happens.
'use strict';

const {toID} = require('../simulator');

const AVERAGE_ROLL = 0.925;
const SPREAD = 0.75;
const SPREAD_TARGETS = new Set(['allAdjacent', 'allAdjacentFoes']);
const POWER_GUESS = {
  lowkick: 80, grassknot: 80, heavyslam: 80, heatcrash: 80, gyroball: 70, electroball: 60, reversal: 40, flail: 40,
  counter: 40, mirrorcoat: 40, metalburst: 40, comeuppance: 40, beatup: 60, fling: 40, naturalgift: 60, hardpress: 60,
  crushgrip: 60, wringout: 60, seismictoss: 50, nightshade: 50, superfang: 60, ruination: 60, naturesmadness: 60,
  endeavor: 60, finalgambit: 60,
};
// Moves whose damage does not follow the formula: share of the defender's full HP. `power` above only marks them as attacks.
const halves = (attacker, defender) => defender.hp / 2;
const byLevel = (attacker, defender) => attacker.level / defender.stats[0];
const FIXED = {
  superfang: halves, ruination: halves, naturesmadness: halves, seismictoss: byLevel, nightshade: byLevel,
  endeavor: (attacker, defender) => Math.max(0, defender.hp - attacker.hp * attacker.stats[0] / defender.stats[0]),
  finalgambit: (attacker, defender) => attacker.hp * attacker.stats[0] / defender.stats[0],
};
// Tables that are asked with ids out of the log are Maps: as keys of an object such strings are looked up more slowly.
const WEATHER_BOOST = new Map(Object.entries({
  sunnyday: {fire: 1.5, water: 0.5}, desolateland: {fire: 1.5, water: 0}, raindance: {water: 1.5, fire: 0.5},
  primordialsea: {water: 1.5, fire: 0},
}));
const SUN = new Set(['sunnyday', 'desolateland']);
const TERRAIN_BOOST = new Map(Object.entries({
  electricterrain: 'electric', grassyterrain: 'grass', psychicterrain: 'psychic',
}));
const ABSORBS = new Map(Object.entries({
  levitate: 'ground', eartheater: 'ground', flashfire: 'fire', wellbakedbody: 'fire', waterabsorb: 'water',
  dryskin: 'water', stormdrain: 'water', voltabsorb: 'electric', lightningrod: 'electric', motordrive: 'electric',
  sapsipper: 'grass',
}));
const RETYPES = new Map(Object.entries({
  pixilate: 'fairy', refrigerate: 'ice', aerilate: 'flying', galvanize: 'electric', dragonize: 'dragon',
}));
const PIERCES = new Set(['moldbreaker', 'teravolt', 'turboblaze']);
const SHELLS = new Set(['multiscale', 'shadowshield', 'terashell']);
const TYPE_CHANGES = new Set(['terablast', 'terastarstorm', 'ivycudgel', 'weatherball']);
const POWER_CHANGES = new Set([
  'eruption', 'waterspout', 'dragonenergy', 'facade', 'hex', 'acrobatics', 'knockoff', 'weatherball', 'lastrespects',
  'expandingforce', 'ragefist',
]);
const TYPE_ITEMS = new Map(Object.entries({
  blackglasses: 'dark', mysticwater: 'water', charcoal: 'fire', miracleseed: 'grass', softsand: 'ground',
  nevermeltice: 'ice', blackbelt: 'fighting', spelltag: 'ghost', sharpbeak: 'flying', fairyfeather: 'fairy',
  magnet: 'electric', metalcoat: 'steel', poisonbarb: 'poison', hardstone: 'rock', dragonfang: 'dragon',
  twistedspoon: 'psychic', silkscarf: 'normal', silverpowder: 'bug', wellspringmask: 'water', hearthflamemask: 'fire',
}));
const MULTIPLIER = [0.25, 2 / 7, 1 / 3, 0.4, 0.5, 2 / 3, 1, 1.5, 2, 2.5, 3, 3.5, 4];
const [ATK, DEF, SPA, SPD] = [0, 1, 2, 3]; // places in the boosts; stats have HP in front

const moveFacts = new WeakMap(); // Dex → Map of move id → facts
const charts = new WeakMap(); // Dex → Map of attacking type → Map of defending type → multiplier
const typeIds = new WeakMap(); // species → ids of its types

function typesOf(species) {
  let types = typeIds.get(species);
  if (!types) typeIds.set(species, types = species.types.map(toID));
  return types;
}

function factsOf(dex, id) {
  let known = moveFacts.get(dex);
  if (!known) moveFacts.set(dex, known = new Map());
  let facts = known.get(id);
  if (!facts) {
    const move = dex.moves.get(id);
    const hits = Array.isArray(move.multihit) ? (move.multihit[1] === 5 ? 3.1 : move.multihit[1]) : move.multihit || 1;
    facts = {
      id, move, type: toID(move.type), category: move.category, priority: move.priority,
      power: move.category === 'Status' ? 0 : move.basePower || POWER_GUESS[id] || 0,
      accuracy: move.accuracy === true ? 1 : move.accuracy / 100, hits: id === 'populationbomb' ? 5 : hits,
      spread: SPREAD_TARGETS.has(move.target), hitsAlly: move.target === 'allAdjacent',
      changesType: TYPE_CHANGES.has(id), changesPower: POWER_CHANGES.has(id), fixed: FIXED[id],
    };
    known.set(id, facts);
  }
  return facts;
}

// Type multiplier of an attacking type against a list of types.
function effectiveness(dex, type, types) {
  let chart = charts.get(dex);
  if (!chart) charts.set(dex, chart = new Map());
  let row = chart.get(type);
  if (!row) chart.set(type, row = new Map());
  let product = 1;
  for (const other of types) {
    let value = row.get(other);
    if (value === undefined) {
      const name = dex.types.get(type).name;
      const target = dex.types.get(other).name;
      value = type === 'stellar' ? 1 : dex.getImmunity(name, target) ? 2 ** dex.getEffectiveness(name, target) : 0;
      row.set(other, value);
    }
    product *= value;
  }
  return product;
}

const isGrounded = mon => !mon.types.includes('flying') && mon.ability !== 'levitate' && mon.item !== 'airballoon';

function moveType(facts, attacker, tera, weather) {
  return facts.changesType ? changedType(facts, attacker, tera, weather) : normalised(facts, attacker);
}

const normalised = ({type}, attacker) => type === 'normal' ? RETYPES.get(attacker.ability) || type : type;

function changedType(facts, attacker, tera, weather) {
  if (facts.id === 'terablast' && tera) return tera;
  if (facts.id === 'terastarstorm' && tera === 'stellar') return 'stellar';
  if (facts.id === 'ivycudgel') return typeOfMask(attacker);
  if (facts.id === 'weatherball') {
    return {sunnyday: 'fire', raindance: 'water', snowscape: 'ice', snow: 'ice', sandstorm: 'rock'}[weather] || facts.type;
  }
  return normalised(facts, attacker);
}

function typeOfMask(attacker) {
  return {ogerponwellspring: 'water', ogerponhearthflame: 'fire', ogerponcornerstone: 'rock'}[
    attacker.species.id.replace('tera', '')] || 'grass';
}

function changedPower(facts, attacker, defender, field) {
  const {power} = facts;
  if (['eruption', 'waterspout', 'dragonenergy'].includes(facts.id)) return power * attacker.hp;
  if (facts.id === 'facade' && attacker.status) return power * 2;
  if (facts.id === 'hex' && defender.status) return power * 2;
  if (facts.id === 'acrobatics' && !attacker.item) return power * 2;
  if (facts.id === 'knockoff' && defender.item) return power * 1.5;
  if (facts.id === 'weatherball' && field.weather) return power * 2;
  if (facts.id === 'lastrespects') return power * (1 + field.faintedAllies);
  if (facts.id === 'expandingforce' && field.terrain === 'psychicterrain') return power * 1.5;
  return facts.id === 'ragefist' ? power * 2 : power;
}

function movePower(facts, attacker, defender, field) {
  const power = facts.changesPower ? changedPower(facts, attacker, defender, field) : facts.power;
  switch (attacker.ability) {
  case 'technician':
    return power <= 60 ? power * 1.5 : power;
  case 'sharpness':
    return facts.move.flags.slicing ? power * 1.5 : power;
  case 'ironfist':
    return facts.move.flags.punch ? power * 1.2 : power;
  case 'sheerforce':
    return facts.move.secondaries || facts.move.hasSheerForce ? power * 1.3 : power;
  default:
    return power;
  }
}

// The stat that Protosynthesis or Quark Drive raises: the highest, stages included; as places in the boosts.
function raisedStat(mon) {
  if (!mon.volatiles.protosynthesis && !mon.volatiles.quarkdrive) return -1;
  let best = 0;
  const value = i => mon.stats[i + 1] * MULTIPLIER[mon.boosts[i] + 6];
  for (let i = 1; i < 5; i++) if (value(i) > value(best)) best = i;
  return best;
}

// Attack over defence with stages, items and the abilities that change stats.
function statRatio(facts, attacker, defender, tera, field) {
  let physical = facts.category === 'Physical';
  if (facts.id === 'terablast' && tera) physical = attacker.stats[1] > attacker.stats[3];
  const source = facts.id === 'foulplay' ? defender : attacker;
  const attack = facts.id === 'bodypress' ? DEF : physical ? ATK : SPA;
  const guard = physical || facts.move.overrideDefensiveStat === 'def' ? DEF : SPD;
  let value = source.stats[attack + 1] * MULTIPLIER[source.boosts[attack] + 6];
  let against = defender.stats[guard + 1] * MULTIPLIER[defender.boosts[guard] + 6];
  if (physical && (attacker.ability === 'hugepower' || attacker.ability === 'purepower')) value *= 2;
  if (physical && attacker.ability === 'guts' && attacker.status) value *= 1.5;
  else if (physical && attacker.status === 'brn' && facts.id !== 'facade') value *= 0.5;
  if (attacker.item === (physical ? 'choiceband' : 'choicespecs')) value *= 1.5;
  if (!physical && defender.item === 'assaultvest') against *= 1.5;
  if (defender.item === 'eviolite') against *= 1.5;
  if (attacker.ability === (physical ? 'swordofruin' : 'beadsofruin')) against *= 0.75;
  if (defender.ability === (physical ? 'tabletsofruin' : 'vesselofruin')) value *= 0.75;
  if (raisedStat(source) === attack) value *= 1.3;
  if (raisedStat(defender) === guard) against *= 1.3;
  if (physical && attacker.ability === 'orichalcumpulse' && SUN.has(field.weather)) value *= 4 / 3;
  if (!physical && attacker.ability === 'hadronengine' && field.terrain === 'electricterrain') value *= 4 / 3;
  return value / against;
}

function sameTypeBonus(type, attacker, tera) {
  const born = typesOf(attacker.species).includes(type);
  if (tera === 'stellar') return born ? 2 : 1.2;
  const bonus = tera === type && born ? 2 : tera === type || born || attacker.types.includes(type) ? 1.5 : 1;
  return attacker.ability === 'adaptability' && bonus > 1 ? bonus + 0.5 : bonus;
}

function fieldFactor(type, facts, attacker, defender, field) {
  let factor = field.weather ? WEATHER_BOOST.get(field.weather)?.[type] ?? 1 : 1;
  if (field.terrain && TERRAIN_BOOST.get(field.terrain) === type && isGrounded(attacker)) factor *= 1.3;
  if (field.terrain === 'mistyterrain' && type === 'dragon' && isGrounded(defender)) factor *= 0.5;
  if (field.terrain === 'psychicterrain' && facts.priority > 0 && isGrounded(defender)) return 0;
  const screen = facts.category === 'Physical' ? 'reflect' : 'lightscreen';
  if (field.screens[screen] || field.screens.auroraveil) factor *= 2 / 3;
  return factor;
}

function itemFactor(type, attacker, effect) {
  if (attacker.item === 'lifeorb') return 1.3;
  if (attacker.item === 'expertbelt' && effect > 1) return 1.2;
  return TYPE_ITEMS.get(attacker.item) === type ? 1.2 : 1;
}

// {share, effect}: expected damage as a share of the defender's full HP (may exceed 1), and the type multiplier.
// `field` = {weather, terrain, screens, faintedAllies, targets}; `tera` is the type that the attacker is or turns into.
function estimate(dex, facts, attacker, defender, field, tera) {
  if (!facts.power) return {share: 0, effect: 1};
  const type = moveType(facts, attacker, tera, field.weather);
  let effect = effectiveness(dex, type, defender.types);
  if (facts.id === 'freezedry' && defender.types.includes('water')) effect *= 4;
  if (ABSORBS.get(defender.ability) === type && !PIERCES.has(attacker.ability)) effect = 0;
  if (defender.ability === 'wonderguard' && effect <= 1) effect = 0;
  if (effect === 0) return {share: 0, effect: 0};
  const {fixed} = facts;
  if (fixed) return {share: fixed(attacker, defender), effect: 1};
  let factor = effect * sameTypeBonus(type, attacker, tera) * itemFactor(type, attacker, effect);
  factor *= fieldFactor(type, facts, attacker, defender, field);
  if (facts.spread && field.targets > 1) factor *= SPREAD;
  if (defender.hp === 1 && SHELLS.has(defender.ability)) factor *= 0.5;
  const scale = Math.floor(2 * attacker.level / 5) + 2;
  const plain = scale * movePower(facts, attacker, defender, field) * statRatio(facts, attacker, defender, tera, field) / 50 + 2;
  const share = plain * factor * facts.hits * AVERAGE_ROLL / defender.stats[0];
  return {share: defender.volatiles.substitute ? share * 0.5 : share, effect};
}

module.exports = {estimate, factsOf, effectiveness, typesOf, MULTIPLIER};
