// What a seat cannot see of its foes, filled in by chance: sets, spreads, and which of the six were brought.
//
// Reads what the tracker knows and set statistics, never a battle.
'use strict';

const {doublesSets, toID} = require('../simulator');
const {fromSets, fromUsage, STATS} = require('../teams/invent');
const {train} = require('../teams/teams');

const MOVES = 4;
const PLAIN_SPREAD = 0.6; // how often a spread is the usual one for its role
const LEARNABLE = ['Protect', 'Tera Blast', 'Substitute', 'Rest', 'Facade'];

// A whole set of that species as somebody might play it; what is known of this one comes later.
function invented(dex, species, taken, random, usage) {
  const facts = usage && (usage[species.name] || usage[species.baseSpecies]);
  if (facts) return fromUsage(dex, species, facts, random, taken);
  const known = doublesSets[species.id] || doublesSets[toID(species.baseSpecies)];
  if (known) return fromSets(dex, known === doublesSets[species.id] ? species : dex.species.get(species.baseSpecies), random, taken);
  const ability = Object.values(species.abilities)[0];
  return {ability, moves: [], item: 'Sitrus Berry', teraType: species.types[0]};
}

// Another spread than the usual one: bulk in place of Speed, or the other way round.
function otherSpread(set, random) {
  const {evs} = set;
  const most = Math.max(...STATS.map(stat => evs[stat]));
  if (random() < 0.5 && evs.spe === most) [evs.spe, evs.hp] = [evs.hp, evs.spe];
  else if (evs.hp === most) [evs.spe, evs.hp] = [evs.hp, evs.spe];
}

// The set of one foe: everything that was shown, the rest invented.
function guessSet(dex, mon, taken, random, usage) {
  const {species} = mon;
  const set = invented(dex, species, taken, random, usage);
  const fresh = set.moves.map(toID).filter(id => !mon.moves.includes(id));
  const moves = [...mon.moves, ...fresh, ...LEARNABLE.map(toID).filter(id => !mon.moves.includes(id) && !fresh.includes(id))];
  Object.assign(set, {
    name: mon.name || species.baseSpecies, species: species.name, gender: mon.gender || 'N', level: mon.level, moves: moves.slice(0, MOVES),
    ability: mon.abilityKnown ? mon.ability : toID(set.ability), item: mon.itemKnown ? mon.item : toID(set.item),
    teraType: mon.teraKnown && mon.tera ? dex.types.get(mon.tera).name : set.teraType || species.types[0],
  });
  if (!set.evs) {
    train(dex, set);
    if (random() > PLAIN_SPREAD) otherSpread(set, random);
  }
  return set;
}

// Sets of all foes, in the order of team preview.
function guessSets(dex, team, random, usage) {
  const taken = new Set(team.mons.filter(mon => mon.itemKnown && mon.item).map(mon => mon.item));
  return team.mons.map(mon => {
    const set = guessSet(dex, mon, taken, random, usage);
    taken.add(set.item);
    return set;
  });
}

// Places in the team of those that were brought: on the field first, then those that were shown, then any of the others.
function guessBrought(team, places, size, random) {
  const onField = team.slots.slice(0, places).map(slot => team.mons.indexOf(slot.mon));
  const rest = team.mons.map((mon, i) => i).filter(i => !onField.includes(i));
  const hidden = rest.filter(i => !team.mons[i].shown).map(i => [random(), i]).sort((a, b) => a[0] - b[0]).map(pair => pair[1]);
  return [...onField, ...rest.filter(i => team.mons[i].shown), ...hidden].slice(0, Math.min(size, team.mons.length));
}

module.exports = {guessSets, guessBrought};
