// Teams as people hand them over, made ready for a format: read, completed, judged.
'use strict';

const {Dex, Teams, TeamValidator, toID} = require('../simulator');

const STATS = ['hp', 'atk', 'def', 'spa', 'spd', 'spe'];
const SLOW = 55; // base Speed up to which a Pokémon is taken for one that wants to be slow
const FAST = 75; // and from which it is worth training

// The two largest trainings of a stat and the rest that the rules leave: effort values, or stat points in Champions.
function budget(dex) {
  return dex.currentMod.startsWith('champions') ? {most: 32, rest: 2} : {most: 252, rest: 4};
}

// PokePaste text, packed form or JSON; null when it is none of them.
function read(text) {
  const trimmed = text.trim();
  if (!trimmed) return null;
  if (trimmed[0] === '[' || trimmed[0] === '{') return Teams.import(trimmed);
  const isPacked = !trimmed.includes('\n') && trimmed.split('|').length > 10;
  return isPacked ? Teams.unpack(trimmed) : Teams.import(trimmed);
}

const isUntrained = set => !set.evs || STATS.every(stat => !set.evs[stat]);

// What a Pokémon does, from its moves and base stats: {attack: 'atk', 'spa' or '', mixed, slow, fast}.
function roleOf(dex, set, species) {
  const kinds = {Physical: [], Special: [], Status: []};
  for (const name of set.moves) {
    const move = dex.moves.get(name);
    if (kinds[move.category]) kinds[move.category].push(move.basePower || 60);
  }
  const sum = powers => powers.reduce((total, power) => total + power, 0);
  const {atk, spa, spe} = species.baseStats;
  const few = kinds.Physical.length + kinds.Special.length < 2;
  const attack = few ? '' : sum(kinds.Physical) * atk >= sum(kinds.Special) * spa ? 'atk' : 'spa';
  const scarf = toID(set.item) === 'choicescarf';
  const mixed = Math.min(kinds.Physical.length, kinds.Special.length) > 1; // one move of the other kind is for its effect
  return {attack, mixed, slow: spe <= SLOW && !scarf, fast: spe >= FAST || scarf};
}

const NATURES = {
  atk: {fast: 'Jolly', slow: 'Brave', even: 'Adamant'}, spa: {fast: 'Timid', slow: 'Quiet', even: 'Modest'},
};

// A plausible spread where a team sheet has none: attackers train their attack and Speed or HP, the others bulk.
function train(dex, set) {
  const species = dex.species.get(set.species || set.name);
  const {most, rest} = budget(dex);
  const {attack, mixed, slow, fast} = roleOf(dex, set, species);
  const evs = Object.fromEntries(STATS.map(stat => [stat, 0]));
  const weaker = species.baseStats.def <= species.baseStats.spd ? 'def' : 'spd';
  if (attack) {
    Object.assign(evs, {[attack]: most, [fast ? 'spe' : 'hp']: most, [fast ? 'hp' : weaker]: rest});
  } else {
    Object.assign(evs, {hp: most, [weaker]: most, [weaker === 'def' ? 'spd' : 'def']: rest});
  }
  set.evs = evs;
  const nature = dex.natures.get(set.nature || '');
  if (nature.exists && nature.plus) return;
  if (attack && !mixed) set.nature = NATURES[attack][fast ? 'fast' : slow ? 'slow' : 'even'];
  else if (attack) set.nature = fast ? (attack === 'atk' ? 'Naive' : 'Hasty') : attack === 'atk' ? 'Lonely' : 'Mild';
  else set.nature = weaker === 'def' ? 'Impish' : 'Careful';
  if (slow && attack && !set.ivs) set.ivs = {hp: 31, atk: 31, def: 31, spa: 31, spd: 31, spe: 0};
}

// Fills in what sheets leave out; returns what it did, in words.
function complete(dex, team) {
  const done = [];
  for (const set of team) {
    const species = dex.species.get(set.species || set.name);
    if (!species.exists) continue;
    if (!dex.abilities.get(set.ability || '').exists) {
      const known = Object.values(species.abilities).find(name => toID(name).startsWith(toID(set.ability)));
      if (known && (set.ability || Object.keys(species.abilities).length === 1)) set.ability = known; // "As One" of either steed
    }
    if (isUntrained(set)) {
      train(dex, set);
      done.push(`${set.name || species.name}: ${set.nature}, ${STATS.filter(stat => set.evs[stat]).map(stat => `${set.evs[stat]} ${stat}`).join(' / ')}`);
    }
  }
  return done;
}

// {packed, problems, completed, text, species}: the team as the format plays it (level, formes), what the rules say against it, and
// which Pokémon were given a spread.
function prepare(format, text) {
  const team = read(text);
  if (!team || !team.length) {
    return {packed: '', problems: ['This is not a team: no Pokémon could be read.'], completed: [], text: '', species: []};
  }
  const dex = Dex.forFormat(format);
  const completed = complete(dex, team);
  const problems = TeamValidator.get(format).validateTeam(team) || [];
  const {adjustLevel} = Dex.formats.getRuleTable(Dex.formats.get(format));
  for (const set of team) set.level = set.adjustLevel || adjustLevel || set.level;
  const species = team.map(set => set.species || set.name);
  return {packed: Teams.pack(team), problems, completed, text: Teams.export(team), species};
}

module.exports = {read, prepare, train, isUntrained};
