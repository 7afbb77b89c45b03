// Writes vocab.json: the ids that observations may name, in an order that never changes.
//
// Run it after a change of the pinned simulator: `node observe/make_vocab.js`. Ids already in the file keep their places; new
// ones are appended, so that a trained embedding stays valid.
'use strict';

const fs = require('fs');
const path = require('path');
const {Dex} = require('../simulator');

const FILE = path.join(__dirname, 'vocab.json');
const INVENTED = new Set(['CAP', 'Custom', 'LGPE']);
const MODS = ['gen9', 'champions'];

function known() {
  return fs.existsSync(FILE) ? JSON.parse(fs.readFileSync(FILE, 'utf8')) : {};
}

function collect(list, wanted) {
  const ids = new Set();
  for (const mod of MODS) {
    for (const entry of list(Dex.mod(mod))) {
      if (entry.exists && entry.id && !INVENTED.has(entry.isNonstandard) && wanted(entry)) ids.add(entry.id);
    }
  }
  return [...ids].sort();
}

function extend(old, ids) {
  const seen = new Set(old);
  return [...old, ...ids.filter(id => !seen.has(id))];
}

const old = known();
const vocab = {
  species: collect(dex => dex.species.all(), s => s.num > 0 && !s.isTotem && !/gmax|totem$/.test(s.id)),
  moves: collect(dex => dex.moves.all(), m => m.num > 0 && !m.isZ && !m.isMax),
  items: collect(dex => dex.items.all(), i => i.num > 0 && !i.zMove && !/^tr\d\d$/.test(i.id) && !i.isPokeball),
  abilities: collect(dex => dex.abilities.all(), a => a.num > 0),
  types: collect(dex => dex.types.all(), t => t.id !== 'bird'),
};
for (const kind of Object.keys(vocab)) vocab[kind] = extend(old[kind] || [], vocab[kind]);
fs.writeFileSync(FILE, JSON.stringify(vocab).replace(/\],/g, '],\n') + '\n');
