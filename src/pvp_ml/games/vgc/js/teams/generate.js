// Invents legal, plausible teams: reads JSON {format, count, seed, usage} on stdin, prints a list of {packed, text, species}.
//
// Without usage statistics, Pokémon come from the simulator package's own doubles sets; with them, species, team-mates,
// items, moves, spreads and Tera types are drawn as often as people use them. The simulator's validator has the last word.
'use strict';

const fs = require('fs');
const {Dex, Teams, TeamValidator, doublesSets, toID} = require('../simulator');
const {generator} = require('../seeds');
const {draw, fromSets, fromUsage} = require('./invent');
const {train} = require('./teams');

const TEAM_SIZE = 6;
const TRIES = 40; // of a set, and of a place in the team
const TEAM_TRIES = 200;

class Generator {
  constructor({format, seed, usage}) {
    this.dex = Dex.forFormat(format);
    this.validator = TeamValidator.get(format);
    this.level = Dex.formats.getRuleTable(Dex.formats.get(format)).adjustLevel || 50;
    this.random = generator(String(seed), 0);
    this.usage = usage;
    const names = usage ? Object.keys(usage) : Object.keys(doublesSets);
    this.species = names.map(name => this.dex.species.get(name)).filter(species => species.exists);
    this.weights = Object.fromEntries(this.species.map(species => [species.name, usage ? usage[species.name]?.count || 0 : 1]));
  }

  // The next member: as often as it is used, and more often beside those it is used with.
  nextSpecies(team) {
    const bases = new Set(team.map(set => this.dex.species.get(set.species).baseSpecies));
    const weights = {};
    for (const species of this.species) {
      if (bases.has(species.baseSpecies) || this.barred.has(species.name)) continue;
      let weight = this.weights[species.name];
      for (const set of team) if (this.usage) weight *= 0.02 + (this.usage[set.species]?.mates?.[species.name] || 0);
      weights[species.name] = weight;
    }
    return this.dex.species.get(draw(weights, this.random));
  }

  makeSet(species, taken) {
    const facts = this.usage && this.usage[species.name];
    for (let i = 0; i < TRIES; i++) {
      const set = facts ? fromUsage(this.dex, species, facts, this.random, taken) : fromSets(this.dex, species, this.random, taken);
      set.level = this.level;
      if (!set.evs) train(this.dex, set);
      if (set.moves.length && !this.validator.validateSet({...set}, {})) return set;
    }
    this.barred.add(species.name);
    return null;
  }

  make() {
    const team = [];
    for (let i = 0; i < TEAM_TRIES && team.length < TEAM_SIZE; i++) {
      const species = this.nextSpecies(team);
      if (!species.exists) break;
      const set = this.makeSet(species, new Set(team.map(other => toID(other.item))));
      if (!set) continue;
      const problems = this.validator.validateTeam([...team, set].map(other => ({...other}))) || [];
      if (!problems.some(text => !/at least \d+ Pok|must bring/.test(text))) team.push(set);
    }
    return team.length === TEAM_SIZE && !this.validator.validateTeam(team.map(set => ({...set}))) ? team : null;
  }

  *teams(count) {
    this.barred = new Set();
    for (let made = 0, tries = 0; made < count && tries < 10 * count; tries++) {
      const team = this.make();
      if (!team) continue;
      made++;
      yield {packed: Teams.pack(team), text: Teams.export(team), species: team.map(set => set.species)};
    }
  }
}

const asked = JSON.parse(fs.readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify([...new Generator(asked).teams(asked.count)]));
