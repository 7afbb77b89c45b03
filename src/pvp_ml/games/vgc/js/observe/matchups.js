// Who beats whom: what the known attacks of one Pokémon do to another, and who is faster. Bots and observations share it.
'use strict';

const {estimate, factsOf, MULTIPLIER} = require('./damage');

const GUESSED_POWER = 80;
const HELPLESS = 0.3; // share of its attacks that a sleeping or frozen Pokémon gets to make
const CALM = {weather: '', terrain: '', screens: {}, faintedAllies: 0, targets: 2};
const FAST_IN = new Map(Object.entries({
  swiftswim: ['raindance', 'primordialsea'], chlorophyll: ['sunnyday', 'desolateland'], sandrush: ['sandstorm'],
  slushrush: ['snowscape', 'snow', 'hail'], surgesurfer: ['electricterrain'],
}));
const SPE = 4; // place in the boosts; stats have HP in front

const standing = mons => mons.filter(Boolean).length;

// What a damage estimate needs to know of the field when Pokémon of `attackerTeam` strike `targets` of `targetTeam`.
function fieldFor(view, targetTeam, attackerTeam, targets) {
  return {
    weather: view.tracker.weather, terrain: view.tracker.terrain, screens: targetTeam.conditions,
    faintedAllies: attackerTeam.fainted, targets,
  };
}

// An attack of 80 power of that type, with the better of the attacker's two attacking stats.
function guess(attacker, type) {
  return {
    id: 'guess', type, power: GUESSED_POWER, hits: 1, accuracy: 1, priority: 0, spread: false,
    category: attacker.stats[1] >= attacker.stats[3] ? 'Physical' : 'Special', move: {flags: {}},
    changesType: false, changesPower: false, fixed: undefined,
  };
}

// Expected damage of the attacker's best known attack, as a share of the defender's full HP. Unknown moves count as an
// 80-power attack of each of the attacker's types.
function bestShare(dex, attacker, defender, field) {
  let best = 0;
  const tera = attacker.terastallized ? attacker.tera : '';
  for (const move of attacker.moves) {
    const facts = factsOf(dex, move.id);
    if (facts.power && !move.disabled) {
      best = Math.max(best, estimate(dex, facts, attacker, defender, field, tera).share * facts.accuracy);
    }
  }
  if (attacker.moves.length < 4 && !attacker.exact) {
    for (const type of attacker.types) {
      best = Math.max(best, estimate(dex, guess(attacker, type), attacker, defender, field, tera).share);
    }
  }
  return best;
}

// The foes' best attacks on an own Pokémon, summed over the foes that stand.
function threatTo(view, mon) {
  const dex = view.tracker.dex;
  const field = fieldFor(view, view.ownTeam, view.foeTeam, standing(view.ownActive));
  let total = 0;
  for (const foe of view.foeActive) {
    if (!foe) continue;
    total += bestShare(dex, foe, mon, field) * (foe.status === 'slp' || foe.status === 'frz' ? HELPLESS : 1);
  }
  return total;
}

// [own][foe] → share: the best attack of each Pokémon of one team on each of the other, at most all HP, before anybody moved.
function duels(dex, attackers, defenders) {
  return attackers.map(attacker => defenders.map(defender => Math.min(bestShare(dex, attacker, defender, CALM), 1)));
}

// Speed with stages, paralysis, Tailwind, items and the abilities that weather and terrain wake.
function speedOf(tracker, team, mon) {
  let speed = mon.stats[SPE + 1] * MULTIPLIER[mon.boosts[SPE] + 6];
  if (mon.item === 'choicescarf') speed *= 1.5;
  else if (mon.item === 'ironball') speed *= 0.5;
  if (mon.status === 'par' && mon.ability !== 'quickfeet') speed *= 0.5;
  if (team.conditions.tailwind) speed *= 2;
  const wakes = FAST_IN.get(mon.ability);
  if (wakes && (wakes.includes(tracker.weather) || wakes.includes(tracker.terrain))) speed *= 2;
  return speed;
}

module.exports = {bestShare, duels, fieldFor, speedOf, standing, threatTo};
