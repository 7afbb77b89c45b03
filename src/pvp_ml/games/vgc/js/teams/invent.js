// Plausible sets: of the simulator package's own doubles sets, or as usage statistics say that people build them.
'use strict';

const {doublesSets, toID} = require('../simulator');

const MOVES = 4;
const ITEMS = {
  Physical: ['Life Orb', 'Choice Band', 'Focus Sash', 'Clear Amulet', 'Lum Berry', 'Sitrus Berry', 'Choice Scarf'],
  Special: ['Life Orb', 'Choice Specs', 'Focus Sash', 'Covert Cloak', 'Choice Scarf', 'Sitrus Berry', 'Assault Vest'],
  Status: ['Sitrus Berry', 'Leftovers', 'Rocky Helmet', 'Safety Goggles', 'Covert Cloak', 'Mental Herb', 'Light Clay'],
};
const STATS = ['hp', 'atk', 'def', 'spa', 'spd', 'spe'];

const pick = (list, random) => list[Math.floor(random() * list.length)];

// A key of {name: share}, as often as its share says; '' when there is none.
function draw(shares, random, allowed = () => true) {
  const names = Object.keys(shares || {}).filter(allowed);
  let left = random() * names.reduce((sum, name) => sum + shares[name], 0);
  for (const name of names) {
    left -= shares[name];
    if (left <= 0) return name;
  }
  return names[names.length - 1] || '';
}

function shuffle(list, random) {
  const mixed = [...list];
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [mixed[i], mixed[j]] = [mixed[j], mixed[i]];
  }
  return mixed;
}

// From the package's doubles sets: four moves of a pool, an attack of its own type among them where there is one.
function fromSets(dex, species, random, taken) {
  const known = doublesSets[species.id] || doublesSets[toID(species.baseSpecies)];
  const role = pick(known.sets, random);
  const pool = shuffle(role.movepool, random).map(name => dex.moves.get(name));
  const stab = pool.find(move => move.category !== 'Status' && species.types.includes(move.type));
  const moves = [...new Set([stab, pool.find(move => move.id === 'protect'), ...pool].filter(Boolean))].slice(0, MOVES);
  const attacks = moves.filter(move => move.category !== 'Status').map(move => move.category);
  const kind = attacks.length < 2 ? 'Status' :
    attacks.filter(name => name === 'Physical').length * 2 > attacks.length ? 'Physical' : 'Special';
  const free = ITEMS[kind].filter(name => !taken.has(toID(name)) && suits(name, moves));
  return {
    name: species.baseSpecies, species: species.name, ability: pick(role.abilities, random), moves: moves.map(move => move.name),
    item: species.requiredItem || pick(free.length ? free : ['Sitrus Berry'], random), teraType: pick(role.teraTypes || species.types, random),
  };
}

// A Pokémon that wants to guard itself is not locked into a move, and a vest allows attacks alone.
function suits(item, moves) {
  const status = moves.some(move => move.category === 'Status');
  return !(status && (item.startsWith('Choice') || item === 'Assault Vest'));
}

function fromUsage(dex, species, facts, random, taken) {
  const moves = [];
  while (moves.length < MOVES) {
    const move = draw(facts.moves, random, name => !moves.includes(name));
    if (!move) break;
    moves.push(move);
  }
  const set = {
    name: species.baseSpecies, species: species.name, ability: draw(facts.abilities, random), moves,
    item: species.requiredItem || draw(facts.items, random, name => !taken.has(toID(name))), teraType: draw(facts.teras, random),
  };
  const [nature, points] = draw(facts.spreads, random).split(':');
  if (points) {
    set.nature = nature;
    set.evs = Object.fromEntries(points.split('/').map((number, i) => [STATS[i], Number(number)]));
  }
  return set;
}

module.exports = {draw, fromSets, fromUsage, pick, shuffle, suits, ITEMS, STATS};
