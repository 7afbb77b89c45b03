// The run-time speed-up of the simulator: no file of the package changes, logs stay equal line by line.
'use strict';

const crypto = require('crypto');
const sim = require('../simulator');
const copies = require('./copies');
const handlers = require('./handlers');

const PARTS = [handlers, copies];

// SHA-256 over the source of the methods that the parts replace or rely on, in the pinned package. Another text means that
// their reasoning has not been checked against it, so the stock methods stay.
const KNOWN_SOURCES = new Set(['45be4e3a2bd04f765a9c1a95ee02c8c295bbe81b591b29befa1bb580481a6e47']);

let isInstalled = false;

function sourceHash() {
  const hash = crypto.createHash('sha256');
  for (const part of PARTS) for (const text of part.sources()) hash.update(text);
  return hash.digest('hex');
}

// What effects have is remembered, so they must be shared objects that nobody changes after loading.
function effectsAreFrozen() {
  const dex = sim.Dex;
  return [dex.abilities.get('intimidate'), dex.items.get('leftovers'), dex.conditions.get('par'), dex.species.get('ditto')]
    .every(effect => Object.isFrozen(effect)) && dex.conditions.getByID('par') === dex.conditions.getByID('par');
}

// Returns why the stock methods stay, or '' when the speed-up is on.
function install() {
  if (isInstalled) return '';
  if (!KNOWN_SOURCES.has(sourceHash())) return 'the simulator differs from the version that the speed-up was checked with';
  if (!effectsAreFrozen()) return 'the simulator no longer shares frozen effects';
  for (const part of PARTS) part.install();
  isInstalled = true;
  return '';
}

// Puts the stock methods back.
function uninstall() {
  if (isInstalled) for (const part of PARTS) part.uninstall();
  isInstalled = false;
}

module.exports = {install, uninstall, sourceHash};
