// Copies that the stock simulator makes again and again, made cheaper or once.
'use strict';

const sim = require('../simulator');

const objectsIn = new WeakMap(); // move → names of its properties that hold objects
const rulesets = new WeakMap(); // formats of a Dex → Map of name → format
let isTurnEnding = false;
let stock = {};

// A move in use is a copy that the simulator may change. The stock copy walks through every property; here the plain ones
// are copied at once, and only those that hold objects are walked through. At the end of a turn the simulator looks at all
// moves of everybody who stands, only to ask whether they can be chosen: nothing is changed, so nothing is copied.
function getActiveMove(move) {
  if (move && typeof move.hit === 'number') return move;
  move = this.moves.get(move);
  if (isTurnEnding) return move;
  let names = objectsIn.get(move);
  if (!names) objectsIn.set(move, names = Object.keys(move).filter(name => move[name] !== null && typeof move[name] === 'object'));
  const copy = {__proto__: Object.getPrototypeOf(move), ...move};
  for (const name of names) copy[name] = this.deepClone(move[name]);
  copy.hit = 0;
  return copy;
}

function endTurn() {
  isTurnEnding = true;
  try {
    return stock.endTurn.call(this);
  } finally {
    isTurnEnding = false;
  }
}

// A rule looked up by name is rebuilt each time, a hundred times per battle, and never changed.
function getFormat(name, isTrusted) {
  if (typeof name !== 'string' || name.includes('@@@')) return stock.getFormat.call(this, name, isTrusted);
  let known = rulesets.get(this);
  if (!known) rulesets.set(this, known = new Map());
  let format = known.get(name);
  if (!format) known.set(name, format = stock.getFormat.call(this, name, isTrusted));
  return format;
}

const dexClass = () => Object.getPrototypeOf(sim.Dex);
const formatsClass = () => Object.getPrototypeOf(sim.Dex.formats);

function sources() {
  return [
    dexClass().getActiveMove, sim.Dex.deepClone, formatsClass().get, formatsClass().getRuleTable, sim.Battle.prototype.endTurn,
    sim.Battle.prototype.singleEvent,
  ].map(method => method.toString());
}

function install() {
  stock = {getActiveMove: dexClass().getActiveMove, getFormat: formatsClass().get, endTurn: sim.Battle.prototype.endTurn};
  dexClass().getActiveMove = getActiveMove;
  formatsClass().get = getFormat;
  sim.Battle.prototype.endTurn = endTurn;
}

function uninstall() {
  dexClass().getActiveMove = stock.getActiveMove;
  formatsClass().get = stock.getFormat;
  sim.Battle.prototype.endTurn = stock.endTurn;
}

module.exports = {install, uninstall, sources};
