// The one place that knows where the simulator package is: PVP_ML_SHOWDOWN names its folder.
'use strict';

const path = require('path');

const folder = process.env.PVP_ML_SHOWDOWN;
if (!folder) throw new Error('PVP_ML_SHOWDOWN must name the folder of the pokemon-showdown package');

const {Battle, Dex, Pokemon, Side, PRNG, Teams, TeamValidator, toID} = require(path.join(folder, 'dist', 'sim'));

module.exports = {Battle, Dex, Pokemon, Side, PRNG, Teams, TeamValidator, toID};
