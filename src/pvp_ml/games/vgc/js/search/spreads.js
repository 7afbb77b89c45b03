// The training behind stats that a request shows: effort values, individual values and a nature that give the same.
//
// A forme that changes during the battle computes its stats anew, so the stats alone are not enough.
'use strict';

const STATS = ['atk', 'def', 'spa', 'spd', 'spe'];
const PLAIN = 'Serious';
const known = new Map(); // what was asked → what was found
const MOST_KNOWN = 500;

function natureOf(dex, plus, minus) {
  if (!plus) return PLAIN;
  return dex.natures.all().find(nature => nature.plus === plus && nature.minus === minus).name;
}

// {stat value: [ev, iv]} of one stat under a nature, the smallest training first.
function tableOf(battle, species, level, stat, nature) {
  const most = battle.dex.currentMod.startsWith('champions') ? 32 : 252;
  const table = new Map();
  for (const iv of [31, 0]) {
    for (let ev = 0; ev <= most; ev += most === 32 ? 1 : 4) {
      const set = {level, nature, evs: {[stat]: ev}, ivs: {[stat]: iv}};
      const value = battle.statModify(species.baseStats, set, stat);
      if (!table.has(value)) table.set(value, [ev, iv]);
    }
  }
  return table;
}

function fit(battle, species, level, stats) {
  const tables = {};
  const solve = (stat, plus, minus) => {
    const kind = stat === plus ? 'plus' : stat === minus ? 'minus' : 'plain';
    const nature = kind === 'plain' ? PLAIN : kind === 'plus' ? natureOf(battle.dex, stat, stat === 'atk' ? 'def' : 'atk') :
      natureOf(battle.dex, stat === 'atk' ? 'def' : 'atk', stat);
    const table = tables[stat + kind] ||= tableOf(battle, species, level, stat, nature);
    return table.get(stats[stat]);
  };
  const pairs = [['', ''], ...STATS.flatMap(plus => STATS.filter(minus => minus !== plus).map(minus => [plus, minus]))];
  for (const [plus, minus] of pairs) {
    const found = STATS.map(stat => solve(stat, plus, minus));
    if (!found.every(Boolean)) continue;
    const of = place => Object.fromEntries(STATS.map((stat, i) => [stat, found[i][place]]));
    return {nature: natureOf(battle.dex, plus, minus), evs: of(0), ivs: of(1)};
  }
  return null;
}

// {nature, evs, ivs}: a training of that species that gives these stats and that maximum of HP; null where there is none.
function spreadOf(battle, species, level, stats, maxhp) {
  const key = [battle.dex.currentMod, species.id, level, maxhp, ...STATS.map(stat => stats[stat])].join();
  if (!known.has(key)) {
    if (known.size >= MOST_KNOWN) known.clear();
    const spread = fit(battle, species, level, stats);
    const [ev, iv] = tableOf(battle, species, level, 'hp', PLAIN).get(maxhp) || [0, 31];
    known.set(key, spread && {nature: spread.nature, evs: {...spread.evs, hp: ev}, ivs: {...spread.ivs, hp: iv}});
  }
  return known.get(key);
}

module.exports = {spreadOf};
