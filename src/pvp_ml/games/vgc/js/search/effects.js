// Effects in a rebuilt battle: on Pokémon, on sides, on the field. How long one still lasts is drawn where nobody can know.
'use strict';

const {toID} = require('../simulator');

const GUARDED_ENDS = 1; // upkeeps that a row of guards still counts, at the start of a turn
const LONG = 8;
const EXTENDERS = {
  reflect: 'lightclay', lightscreen: 'lightclay', auroraveil: 'lightclay', raindance: 'damprock', sunnyday: 'heatrock',
  sandstorm: 'smoothrock', snowscape: 'icyrock', electricterrain: 'terrainextender', grassyterrain: 'terrainextender',
  mistyterrain: 'terrainextender', psychicterrain: 'terrainextender',
};
const LASTING_WEATHERS = new Set(['desolateland', 'primordialsea', 'deltastream']);

const upTo = (most, random) => 1 + Math.floor(random() * most);
const nothing = () => ({});
const lasting = most => ({random}) => ({duration: upTo(most, random)});

// What an effect that was seen on a Pokémon needs to work; null leaves it out.
const ON_POKEMON = {
  confusion: ({random}) => ({time: upTo(4, random)}),
  substitute: ({pokemon}) => ({hp: Math.floor(pokemon.maxhp / 4)}),
  taunt: lasting(3), healblock: lasting(2), throatchop: lasting(2), syrupbomb: lasting(3), magnetrise: lasting(5), embargo: lasting(5),
  yawn: () => ({duration: 1}),
  encore: ({slot, random}) => slot.lastMove ? {move: slot.lastMove, duration: upTo(3, random)} : null,
  partiallytrapped: ({battle, random}) => ({duration: upTo(5, random), boundDivisor: 8, sourceEffect: battle.dex.moves.get('whirlpool')}),
  protosynthesis: ({pokemon}) => ({bestStat: pokemon.getBestStat(false, true), fromBooster: pokemon.item === ''}),
  quarkdrive: ({pokemon}) => ({bestStat: pokemon.getBestStat(false, true), fromBooster: pokemon.item === ''}),
  mustrecharge: () => ({duration: 1}), glaiverush: () => ({duration: 1}),
  leechseed: nothing, torment: nothing, focusenergy: () => ({layers: 2}), aquaring: nothing, ingrain: nothing,
  curse: nothing, attract: nothing,
  flashfire: nothing, charge: nothing, smackdown: nothing, tarshot: nothing, octolock: nothing, saltcure: nothing, imprison: nothing,
  nightmare: nothing, noretreat: nothing, destinybond: nothing, commanding: nothing, commanded: nothing, gastroacid: nothing,
};

function addEffect(battle, pokemon, id, facts) {
  const source = pokemon.foes()[0] || pokemon;
  pokemon.volatiles[id] = battle.initEffectState({
    id, name: battle.dex.conditions.getByID(id).name, target: pokemon, source, sourceSlot: source.getSlot(), ...facts,
  });
}

// Everything that was seen to lie on the Pokémon in this place, and what follows from its item and its last moves.
function addEffects(battle, pokemon, slot, random) {
  for (const id in slot.volatiles) {
    const facts = ON_POKEMON[id] && ON_POKEMON[id]({battle, pokemon, slot, random});
    if (facts) addEffect(battle, pokemon, id, facts);
  }
  const {perish, twoturn} = slot.volatiles;
  if (perish) addEffect(battle, pokemon, 'perishsong', {duration: perish});
  if (slot.protects) addEffect(battle, pokemon, 'stall', {counter: 3 ** Math.min(slot.protects, 6), duration: GUARDED_ENDS});
  if (pokemon.getItem().isChoice && pokemon.moves.includes(slot.lastMove)) addEffect(battle, pokemon, 'choicelock', {move: slot.lastMove});
  if (pokemon.ability === 'unburden' && !pokemon.item) addEffect(battle, pokemon, 'unburden', {});
  if (battle.dex.moves.get(slot.lastMove).self?.volatileStatus === 'lockedmove' && !slot.volatiles.confusion) {
    addEffect(battle, pokemon, 'lockedmove', {move: slot.lastMove, duration: 2, trueDuration: upTo(2, random)});
  }
  if (twoturn && slot.lastMove) {
    addEffect(battle, pokemon, 'twoturnmove', {duration: 1, move: slot.lastMove});
    addEffect(battle, pokemon, slot.lastMove, {duration: 1, targetLoc: 1});
  }
}

// Ends of turns that an effect still has: its full time, longer with the item for it, less what has gone by.
function turnsLeft(battle, id, elapsed, items) {
  const full = battle.dex.conditions.getByID(id).duration || 0;
  if (!full) return 0;
  const total = items.has(EXTENDERS[id]) || elapsed >= full ? Math.max(full, LONG) : full;
  return Math.max(1, total - elapsed);
}

function addSideConditions(battle, side, team, upkeeps, items) {
  for (const id in team.conditions) {
    if (!battle.dex.conditions.getByID(id).exists) continue;
    const {layers, since} = team.conditions[id];
    const duration = turnsLeft(battle, id, upkeeps - since, items);
    const source = side.foe.active[0] || side.active[0];
    side.sideConditions[id] = battle.initEffectState({
      id, target: side, source, sourceSlot: source.getSlot(), layers, ...(duration ? {duration} : {}),
    });
  }
}

function addField(battle, tracker, items) {
  const {field} = battle;
  const source = battle.sides[0].active[0];
  const stateOf = (id, since) => {
    const duration = LASTING_WEATHERS.has(id) ? 0 : turnsLeft(battle, id, tracker.upkeeps - since, items);
    return battle.initEffectState({id, target: field, source, sourceSlot: source.getSlot(), ...(duration ? {duration} : {})});
  };
  if (tracker.weather) [field.weather, field.weatherState] = [tracker.weather, stateOf(tracker.weather, tracker.weatherSince)];
  for (const [id, since] of Object.entries(tracker.fields)) {
    if (id.endsWith('terrain')) [field.terrain, field.terrainState] = [id, stateOf(id, since)];
    else if (battle.dex.conditions.getByID(id).exists) field.pseudoWeather[id] = stateOf(id, since);
  }
}

// All items that anybody holds or has lost: some make effects last longer.
const itemsIn = battle => new Set(battle.sides.flatMap(side => side.pokemon.flatMap(mon => [mon.item, toID(mon.set.item)])));

module.exports = {addEffect, addEffects, addSideConditions, addField, itemsIn};
