// The one place that knows where the simulator package is: PVP_ML_SHOWDOWN names its folder.
'use strict';

const path = require('path');

const folder = process.env.PVP_ML_SHOWDOWN;
if (!folder) throw new Error('PVP_ML_SHOWDOWN must name the folder of the pokemon-showdown package');

const {Battle, Dex, Pokemon, Side, PRNG, Teams, TeamValidator, toID} = require(path.join(folder, 'dist', 'sim'));

// Sets of the package's random doubles battles, read when somebody asks: {species id: {sets: [{movepool, abilities, teraTypes}]}}.
const sets = path.join(folder, 'dist', 'data', 'random-battles', 'gen9', 'doubles-sets.json');

module.exports = {
  get doublesSets() { return require(sets); },
  Battle, Dex, Pokemon, Side, PRNG, Teams, TeamValidator, toID,
};
