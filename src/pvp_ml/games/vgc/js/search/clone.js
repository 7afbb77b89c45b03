// An exact copy of a running battle (or of a tracker): the whole object graph, with the rule data shared.
//
// The simulator's rule data (Dex, formats, species, moves, …) is frozen or never written during a battle and stays shared;
// everything else is copied, cycles included. A Pokémon carries two closures over itself, which are made anew.
'use strict';

const {Pokemon} = require('../simulator');

const CLOSURES = ['getHealth', 'getFullDetails'];
const factories = new Map(); // name of a closure → a function whose `this` the closure keeps

// The same arrow function over another `this`. Both closures read nothing else from around them, and are the same text in
// every Pokémon.
function bound(name, closure, self) {
  let factory = factories.get(name);
  if (factory === undefined) factories.set(name, factory = new Function(`return ${closure.toString()};`));
  return factory.call(self);
}

// Copies what is reachable from `root`. `seen` maps originals to copies; what it maps to itself stays shared.
function copyGraph(root, seen) {
  function copy(value) {
    if (value === null || typeof value !== 'object') return value;
    const known = seen.get(value);
    if (known !== undefined) return known;
    if (Object.isFrozen(value)) return value;
    if (Array.isArray(value)) return copyArray(value);
    if (value instanceof Map) return copyMap(value);
    if (value instanceof Set) return copySet(value);
    if (ArrayBuffer.isView(value)) return remember(value, value.slice());
    return copyObject(value);
  }
  function remember(value, made) {
    seen.set(value, made);
    return made;
  }
  function copyArray(value) {
    const made = remember(value, new Array(value.length));
    for (let i = 0; i < value.length; i++) made[i] = copy(value[i]);
    return made;
  }
  function copyMap(value) {
    const made = remember(value, new Map());
    for (const [key, item] of value) made.set(copy(key), copy(item));
    return made;
  }
  function copySet(value) {
    const made = remember(value, new Set());
    for (const item of value) made.add(copy(item));
    return made;
  }
  function copyObject(value) {
    const made = remember(value, {__proto__: Object.getPrototypeOf(value), ...value}); // all at once: ten times as fast
    for (const key of Object.keys(value)) {
      const item = value[key];
      if (item !== null && typeof item === 'object') made[key] = copy(item);
    }
    if (value instanceof Pokemon) for (const name of CLOSURES) made[name] = bound(name, value[name], made);
    return made;
  }
  return copy(root);
}

// A battle that goes on exactly as the given one would, and never touches it. It reports to `send`.
function cloneBattle(battle, send = () => {}) {
  const sets = battle.sides.flatMap(side => side.team); // what was brought, as its owner wrote it down
  const shared = [battle.dex, battle.format, battle.ruleTable, ...sets];
  const copy = copyGraph(battle, new Map(shared.map(data => [data, data])));
  copy.send = send;
  return copy;
}

// What everybody has seen, to be read on from here.
function cloneTracker(tracker) {
  return copyGraph(tracker, new Map([[tracker.dex, tracker.dex]]));
}

module.exports = {cloneBattle, cloneTracker};
