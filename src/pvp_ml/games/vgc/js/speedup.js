// The run-time speed-up: handler search that skips effects known to have no callback for an event, and cheaper copies of
// moves.
//
// The stock simulator asks every status, volatile, ability, item, species and side condition for a callback whose name
// is built anew at each event. Here each callback name gets a small number once; each effect remembers by that number
// whether it has such a callback, and each Pokémon remembers the union over its four fixed effects, so that most
// searches end after one array read. Which handlers are found, and in which order, does not change.
'use strict';

const crypto = require('crypto');
const sim = require('./simulator');

const PATCHED_METHODS = [
  'getCallback', 'findEventHandlers', 'findPokemonEventHandlers', 'findBattleEventHandlers', 'findFieldEventHandlers',
  'findSideEventHandlers', 'resolvePriority',
];

// SHA-256 over the source of the methods above in the pinned package. Another text means that the reasoning of this
// file has not been checked against it, so the stock methods stay.
const KNOWN_SOURCES = new Set(['9c5062ded6e2185a282765ba9efd4f13846bb42f857da5b772551e68462391aa']);

const UNKNOWN = 0;
const ABSENT = 1;
const PRESENT = 2;
const TABLE_SIZE = 1024;
const MAX_COMBINATIONS = 4000; // about 4 MB of union tables; start over rather than grow

const nameNumbers = new Map(); // callback name → number
const eventNames = new Map(); // event → the five prefixed callback names
const UNPREFIXED = new Set(['BeforeTurn', 'Update', 'Weather', 'WeatherChange', 'TerrainChange']);

function sourceHash() {
  const hash = crypto.createHash('sha256');
  for (const name of PATCHED_METHODS) hash.update(sim.Battle.prototype[name].toString());
  hash.update(sim.Dex.getActiveMove.toString()).update(sim.Dex.deepClone.toString());
  return hash.digest('hex');
}

function numberOf(callbackName) {
  let number = nameNumbers.get(callbackName);
  if (number === undefined) {
    number = nameNumbers.size;
    nameNumbers.set(callbackName, number);
  }
  return number;
}

class CallbackName {
  constructor(text) {
    this.text = text;
    this.number = numberOf(text);
    // `onSwitchIn` may fall back to `onStart` depending on who asks, so its presence is not a fact of the effect alone.
    this.searchable = text !== 'onSwitchIn' && this.number < TABLE_SIZE;
  }
}

function namesOf(event) {
  let names = eventNames.get(event);
  if (names === undefined) {
    names = {
      plain: new CallbackName(`on${event}`),
      ally: new CallbackName(`onAlly${event}`),
      any: new CallbackName(`onAny${event}`),
      foe: new CallbackName(`onFoe${event}`),
      source: new CallbackName(`onSource${event}`),
      prefixed: !UNPREFIXED.has(event),
    };
    eventNames.set(event, names);
  }
  return names;
}

// Presence tables belong to a Dex, because a mod may define another callback under the same id.
class DexTables {
  constructor(dex) {
    this.dex = dex;
    this.conditions = new Map(); // id → {effect, table}
    this.combinations = new Map(); // "status|ability|item|species" → table of the union
    this.formats = new Map();
  }

  condition(id) {
    let entry = this.conditions.get(id);
    if (entry === undefined) {
      entry = {effect: this.dex.conditions.getByID(id), table: new Uint8Array(TABLE_SIZE)};
      this.conditions.set(id, entry);
    }
    return entry;
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

  format(format) {
    let table = this.formats.get(format);
    if (table === undefined) {
      table = new Uint8Array(TABLE_SIZE);
      this.formats.set(format, table);
    }
    return table;
  }
}

const dexTables = new WeakMap();
const TABLES = Symbol('presence tables of the battle');
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
function unionTable(battle, pokemon) {
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
    union.table = tablesOf(battle).combination(pokemon);
  }
  return union.table;
}

function remember(table, name, present) {
  table[name.number] = present ? PRESENT : ABSENT;
  return present;
}

function unionHas(battle, pokemon, name) {
  const table = unionTable(battle, pokemon);
  const seen = table[name.number];
  if (seen !== UNKNOWN) return seen === PRESENT;
  return remember(table, name, pokemon.getStatus()[name.text] !== undefined ||
    pokemon.getAbility()[name.text] !== undefined || pokemon.getItem()[name.text] !== undefined ||
    pokemon.baseSpecies[name.text] !== undefined);
}

function conditionHas(tables, id, name) {
  const entry = tables.condition(id);
  const seen = entry.table[name.number];
  if (seen !== UNKNOWN) return seen === PRESENT;
  return remember(entry.table, name, entry.effect[name.text] !== undefined);
}

function anyConditionHas(tables, states, name) {
  for (const id in states) {
    if (conditionHas(tables, id, name)) return true;
  }
  return false;
}

function append(found, handlers) {
  for (let i = 0; i < handlers.length; i++) found.push(handlers[i]);
}

function ofPokemon(battle, pokemon, name, found) {
  if (name.searchable && pokemon) {
    const tables = tablesOf(battle);
    if (!unionHas(battle, pokemon, name) && !anyConditionHas(tables, pokemon.volatiles, name) &&
      !anyConditionHas(tables, pokemon.side.slotConditions[pokemon.position], name)) return;
  }
  append(found, battle.findPokemonEventHandlers(pokemon, name.text));
}

function ofSide(battle, side, name, found) {
  if (name.searchable && !anyConditionHas(tablesOf(battle), side.sideConditions, name)) return;
  append(found, battle.findSideEventHandlers(side, name.text));
}

function ofField(battle, name, found) {
  const field = battle.field;
  if (name.searchable) {
    const tables = tablesOf(battle);
    if (!conditionHas(tables, field.weather, name) && !conditionHas(tables, field.terrain, name) &&
      !anyConditionHas(tables, field.pseudoWeather, name)) return;
  }
  append(found, battle.findFieldEventHandlers(field, name.text));
}

function ofBattle(battle, name, found) {
  if (name.searchable && !battle.events) {
    const table = tablesOf(battle).format(battle.format);
    const seen = table[name.number];
    if (seen === ABSENT) return;
    if (seen === UNKNOWN && !remember(table, name, battle.format[name.text] !== undefined)) return;
  }
  append(found, battle.findBattleEventHandlers(name.text));
}

function aroundPokemon(battle, target, names, found) {
  ofPokemon(battle, target, names.plain, found);
  if (!names.prefixed) return;
  for (const ally of target.alliesAndSelf()) {
    ofPokemon(battle, ally, names.ally, found);
    ofPokemon(battle, ally, names.any, found);
  }
  for (const foe of target.foes()) {
    ofPokemon(battle, foe, names.foe, found);
    ofPokemon(battle, foe, names.any, found);
  }
}

function aroundSide(battle, target, names, reachesPokemon, found) {
  for (const side of battle.sides) {
    const isOurs = side === target || side === target.allySide;
    if (reachesPokemon) {
      for (const active of side.active) {
        if (isOurs) ofPokemon(battle, active, names.plain, found);
        else if (names.prefixed) ofPokemon(battle, active, names.foe, found);
        if (names.prefixed) ofPokemon(battle, active, names.any, found);
      }
    }
    if (side.n < 2 || !side.allySide) {
      if (isOurs) ofSide(battle, side, names.plain, found);
      else if (names.prefixed) ofSide(battle, side, names.foe, found);
      if (names.prefixed) ofSide(battle, side, names.any, found);
    }
  }
}

function findEventHandlers(target, event, source) {
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
  const reachesPokemon = target instanceof sim.Side;
  if (target instanceof sim.Pokemon && (target.isActive || source?.isActive)) {
    aroundPokemon(this, target, names, found);
    target = target.side;
  }
  if (source && names.prefixed) ofPokemon(this, source, names.source, found);
  if (target instanceof sim.Side) aroundSide(this, target, names, reachesPokemon, found);
  ofField(this, names.plain, found);
  ofBattle(this, names.plain, found);
  return found;
}

// A move in use is a copy that the simulator may change. The stock copy walks through every property; here the plain ones
// are copied at once, and only those that hold objects are walked through.
const objectsIn = new WeakMap(); // move → names of its properties that hold objects

function getActiveMove(move) {
  if (move && typeof move.hit === 'number') return move;
  move = this.moves.get(move);
  let names = objectsIn.get(move);
  if (!names) objectsIn.set(move, names = Object.keys(move).filter(name => move[name] !== null && typeof move[name] === 'object'));
  const copy = {__proto__: Object.getPrototypeOf(move), ...move};
  for (const name of names) copy[name] = this.deepClone(move[name]);
  copy.hit = 0;
  return copy;
}

// Presence is remembered per effect, so effects must be shared objects that nobody changes after loading.
function effectsAreFrozen() {
  const dex = sim.Dex;
  return [dex.abilities.get('intimidate'), dex.items.get('leftovers'), dex.conditions.get('par'), dex.species.get('ditto')]
    .every(effect => Object.isFrozen(effect)) && dex.conditions.getByID('par') === dex.conditions.getByID('par');
}

// Returns why the stock methods stay, or '' when the speed-up is on.
function install() {
  if (!KNOWN_SOURCES.has(sourceHash())) return 'the simulator differs from the version that the speed-up was checked with';
  if (!effectsAreFrozen()) return 'the simulator no longer shares frozen effects';
  sim.Battle.prototype.findEventHandlers = findEventHandlers;
  Object.getPrototypeOf(sim.Dex).getActiveMove = getActiveMove;
  return '';
}

module.exports = {install, sourceHash};
