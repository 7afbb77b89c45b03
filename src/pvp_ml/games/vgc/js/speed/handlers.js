// A faster search for event handlers: effects known to have no callback for an event are skipped.
//
// The stock simulator asks every status, volatile, ability, item, species and side condition for callbacks whose names are
// rebuilt at each event. Here each event gets a number once; each effect remembers by that number which of the event's
// callbacks it has, and each Pokémon remembers the union over its four fixed effects, so that most searches end after one
// array read per Pokémon. Which handlers are found, and in which order, does not change.
'use strict';

const sim = require('../simulator');

const PATCHED_METHODS = [
  'runEvent', 'getCallback', 'findEventHandlers', 'findPokemonEventHandlers', 'findBattleEventHandlers', 'findFieldEventHandlers',
  'findSideEventHandlers', 'resolvePriority',
];
// Kinds of callbacks of an event, as bits; SEEN marks an entry of a table that was filled.
const PLAIN = 1;
const ALLY = 2;
const ANY = 4;
const FOE = 8;
const SOURCE = 16;
const SEEN = 128;
const TABLE_SIZE = 1024;
const MAX_COMBINATIONS = 4000; // about 4 MB of union tables; start over rather than grow
const MAX_DEPTH = 8; // of events within events, as in the simulator
const UNPREFIXED = new Set(['BeforeTurn', 'Update', 'Weather', 'WeatherChange', 'TerrainChange']);

const events = new Map(); // event → EventNames

class EventNames {
  constructor(event) {
    this.number = events.size;
    this.plain = `on${event}`;
    this.ally = `onAlly${event}`;
    this.any = `onAny${event}`;
    this.foe = `onFoe${event}`;
    this.source = `onSource${event}`;
    this.isPrefixed = !UNPREFIXED.has(event);
    // `onSwitchIn` may fall back to `onStart` depending on who asks, so its presence is not a fact of the effect alone.
    this.always = event === 'SwitchIn' ? PLAIN : 0;
    if (this.number >= TABLE_SIZE) throw new Error(`more than ${TABLE_SIZE} kinds of events`);
  }

  // Which callbacks the effect has.
  kindsOf(effect) {
    return SEEN | (effect[this.plain] !== undefined ? PLAIN : 0) | (effect[this.ally] !== undefined ? ALLY : 0) |
      (effect[this.any] !== undefined ? ANY : 0) | (effect[this.foe] !== undefined ? FOE : 0) |
      (effect[this.source] !== undefined ? SOURCE : 0);
  }
}

function namesOf(event) {
  let names = events.get(event);
  if (names === undefined) {
    names = new EventNames(event);
    events.set(event, names);
  }
  return names;
}

// Tables belong to a Dex, because a mod may define another callback under the same id.
class DexTables {
  constructor(dex) {
    this.dex = dex;
    this.conditions = new Map(); // id → {effect, table}
    this.combinations = new Map(); // "status|ability|item|species" → table of the union
    this.effects = new Map(); // status, ability, item, species or format of this Dex, so at most as many as it has → table
  }

  combination(pokemon) {
    const key = `${pokemon.status}|${pokemon.ability}|${pokemon.item}|${pokemon.baseSpecies.id}`;
    let table = this.combinations.get(key);
    if (table === undefined) {
      if (this.combinations.size >= MAX_COMBINATIONS) this.combinations.clear();
      table = new Uint8Array(TABLE_SIZE);
      this.combinations.set(key, table);
    }
    return table;
  }

  // Kinds of callbacks that a condition has.
  ofCondition(id, names) {
    let entry = this.conditions.get(id);
    if (entry === undefined) {
      entry = {effect: this.dex.conditions.getByID(id), table: new Uint8Array(TABLE_SIZE)};
      this.conditions.set(id, entry);
    }
    const {table} = entry;
    return table[names.number] || (table[names.number] = names.kindsOf(entry.effect));
  }

  ofConditions(states, names) {
    let kinds = 0;
    for (const id in states) kinds |= this.ofCondition(id, names);
    return kinds;
  }

  // Of an effect that is shared. With many teams there are more combinations than are kept, but few effects.
  ofEffect(effect, names) {
    let table = this.effects.get(effect);
    if (table === undefined) {
      table = new Uint8Array(TABLE_SIZE);
      this.effects.set(effect, table);
    }
    return table[names.number] || (table[names.number] = names.kindsOf(effect));
  }
}

const dexTables = new WeakMap();
const TABLES = Symbol('tables of the battle');
const UNION = Symbol('union of the fixed effects');

function tablesOf(battle) {
  let tables = battle[TABLES];
  if (tables === undefined) {
    tables = dexTables.get(battle.dex);
    if (tables === undefined) {
      tables = new DexTables(battle.dex);
      dexTables.set(battle.dex, tables);
    }
    Object.defineProperty(battle, TABLES, {value: tables, enumerable: false});
  }
  return tables;
}

// The union table of a Pokémon, valid while its status, ability, item and species stay what they were.
function unionTable(tables, pokemon) {
  let union = pokemon[UNION];
  if (union === undefined) {
    union = {status: null, ability: null, item: null, species: null, table: null};
    Object.defineProperty(pokemon, UNION, {value: union, enumerable: false});
  }
  if (union.status !== pokemon.status || union.ability !== pokemon.ability || union.item !== pokemon.item ||
    union.species !== pokemon.baseSpecies) {
    union.status = pokemon.status;
    union.ability = pokemon.ability;
    union.item = pokemon.item;
    union.species = pokemon.baseSpecies;
    union.table = tables.combination(pokemon);
  }
  return union.table;
}

// Kinds of callbacks that a Pokémon has, with everything that is on it.
function kindsAt(tables, pokemon, names) {
  const table = unionTable(tables, pokemon);
  let kinds = table[names.number];
  if (kinds === 0) {
    kinds = tables.ofEffect(pokemon.getStatus(), names) | tables.ofEffect(pokemon.getAbility(), names) |
      tables.ofEffect(pokemon.getItem(), names) | tables.ofEffect(pokemon.baseSpecies, names);
    table[names.number] = kinds;
  }
  return kinds | names.always | tables.ofConditions(pokemon.volatiles, names) |
    tables.ofConditions(pokemon.side.slotConditions[pokemon.position], names);
}

function append(found, handlers) {
  for (let i = 0; i < handlers.length; i++) found.push(handlers[i]);
}

function aroundPokemon(battle, tables, target, names, found) {
  const own = kindsAt(tables, target, names);
  if (own & PLAIN) append(found, battle.findPokemonEventHandlers(target, names.plain));
  if (!names.isPrefixed) return;
  for (const ally of target.side.active) {
    if (!ally || !ally.hp) continue;
    const kinds = ally === target ? own : kindsAt(tables, ally, names);
    if (kinds & ALLY) append(found, battle.findPokemonEventHandlers(ally, names.ally));
    if (kinds & ANY) append(found, battle.findPokemonEventHandlers(ally, names.any));
  }
  for (const foe of target.side.foe.active) {
    if (!foe || !foe.hp) continue;
    const kinds = kindsAt(tables, foe, names);
    if (kinds & FOE) append(found, battle.findPokemonEventHandlers(foe, names.foe));
    if (kinds & ANY) append(found, battle.findPokemonEventHandlers(foe, names.any));
  }
}

function aroundSide(battle, tables, target, names, reachesPokemon, found) {
  for (const side of battle.sides) {
    const isOurs = side === target;
    if (reachesPokemon) {
      for (const active of side.active) {
        const kinds = kindsAt(tables, active, names);
        if (isOurs && kinds & PLAIN) append(found, battle.findPokemonEventHandlers(active, names.plain));
        if (!names.isPrefixed) continue;
        if (!isOurs && kinds & FOE) append(found, battle.findPokemonEventHandlers(active, names.foe));
        if (kinds & ANY) append(found, battle.findPokemonEventHandlers(active, names.any));
      }
    }
    const kinds = tables.ofConditions(side.sideConditions, names);
    if (isOurs && kinds & PLAIN) append(found, battle.findSideEventHandlers(side, names.plain));
    if (!names.isPrefixed) continue;
    if (!isOurs && kinds & FOE) append(found, battle.findSideEventHandlers(side, names.foe));
    if (kinds & ANY) append(found, battle.findSideEventHandlers(side, names.any));
  }
}

function ofField(battle, tables, names, found) {
  const {field} = battle;
  const kinds = tables.ofCondition(field.weather, names) | tables.ofCondition(field.terrain, names) |
    tables.ofConditions(field.pseudoWeather, names);
  if (kinds & PLAIN) append(found, battle.findFieldEventHandlers(field, names.plain));
}

function ofBattle(battle, tables, names, found) {
  if (battle.events || tables.ofEffect(battle.format, names) & PLAIN) append(found, battle.findBattleEventHandlers(names.plain));
}

let ready = null; // handlers that runEvent has found already
let stock = {};

// As the stock method, for battles of two sides.
function findEventHandlers(target, event, source) {
  if (ready !== null) {
    const found = ready;
    ready = null;
    return found;
  }
  const found = [];
  if (Array.isArray(target)) {
    for (let i = 0; i < target.length; i++) {
      for (const handler of this.findEventHandlers(target[i], event, source)) {
        handler.target = target[i];
        handler.index = i;
        found.push(handler);
      }
    }
    return found;
  }
  const names = namesOf(event);
  const tables = tablesOf(this);
  const reachesPokemon = target instanceof sim.Side;
  if (target instanceof sim.Pokemon && (target.isActive || source?.isActive)) {
    aroundPokemon(this, tables, target, names, found);
    target = target.side;
  }
  if (source && names.isPrefixed && kindsAt(tables, source, names) & SOURCE) {
    append(found, this.findPokemonEventHandlers(source, names.source));
  }
  if (target instanceof sim.Side) aroundSide(this, tables, target, names, reachesPokemon, found);
  ofField(this, tables, names, found);
  ofBattle(this, tables, names, found);
  return found;
}

// Most events find nobody who cares: then what the stock method would return is plain. It takes over what was found.
function runEvent(event, target, source, effect, relayVar, onEffect, fastExit) {
  if (onEffect || Array.isArray(target) || this.eventDepth >= MAX_DEPTH) {
    return stock.runEvent.call(this, event, target, source, effect, relayVar, onEffect, fastExit);
  }
  const found = this.findEventHandlers(target || this, event, source instanceof sim.Pokemon ? source : null);
  if (found.length) {
    ready = found;
    return stock.runEvent.call(this, event, target, source, effect, relayVar, onEffect, fastExit);
  }
  if (relayVar === undefined || relayVar === null) return true;
  if (typeof relayVar === 'number' && relayVar === Math.abs(Math.floor(relayVar))) return this.modify(relayVar, 1);
  return relayVar;
}

// What decides whether this file's reasoning holds: the text of the methods that it replaces or relies on.
function sources() {
  const {Battle, Side, Pokemon} = sim;
  return [
    ...PATCHED_METHODS.map(name => Battle.prototype[name]), Battle.prototype.modify, Side.prototype.allies, Side.prototype.foes,
    Side.prototype.activeTeam, Pokemon.prototype.alliesAndSelf, Pokemon.prototype.foes,
  ].map(method => method.toString());
}

function install() {
  const {Battle} = sim;
  stock = {runEvent: Battle.prototype.runEvent, findEventHandlers: Battle.prototype.findEventHandlers};
  Object.assign(Battle.prototype, {runEvent, findEventHandlers});
}

function uninstall() {
  Object.assign(sim.Battle.prototype, stock);
}

module.exports = {install, uninstall, sources};
