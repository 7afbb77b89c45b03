// The damage estimate beside the simulator's own damage: one turn of one attack, many seeds, exact stats on both sides.
//
// `node damage_cases.js SCRIPTS` with JSON [{name, attacker, defender, move, before?}] (PokePaste sets) on stdin; prints
// {name: [estimated share, simulated share]}.
'use strict';

const fs = require('fs');
const path = require('path');

const load = name => require(path.join(process.argv[2], name));
const {Battle, Teams} = load('simulator.js');
const {estimate, factsOf} = load('observe/damage.js');
const {perspective} = load('seen/perspective.js');
const {fieldFor} = load('observe/matchups.js');
const {Tracker} = load('seen/tracker.js');

const FORMAT = 'gen9doublescustomgame';
const IDLER = 'Blissey\nAbility: Healer\nLevel: 50\n- Celebrate\n';

function start(given, seed) {
  const battle = new Battle({formatid: FORMAT, seed: [seed, 1, 1, 1], send: () => {}});
  battle.setPlayer('p1', {name: 'A', team: Teams.import(`${given.attacker}\n\n${IDLER}`)});
  battle.setPlayer('p2', {name: 'B', team: Teams.import(`${given.defender}\n\n${IDLER}`)});
  battle.makeChoices('team 12', 'team 12');
  for (const [mine, theirs] of given.before || []) battle.makeChoices(mine, theirs);
  return battle;
}

// Mean damage of hits that were not critical, as a share of the defender's full HP.
function simulated(given) {
  let sum = 0;
  let count = 0;
  for (let seed = 1; seed <= 200 && count < 60; seed++) {
    const battle = start(given, seed);
    const target = battle.sides[1].active[0];
    const before = target.hp;
    const from = battle.log.length;
    battle.makeChoices(`${given.move}, move 1`, 'move 1, move 1');
    const lines = battle.log.slice(from);
    const hit = lines.some(line => line.startsWith('|-damage|p2a'));
    if (hit && !lines.some(line => line.startsWith('|-crit'))) {
      sum += (before - target.hp) / target.maxhp;
      count++;
    }
    battle.destroy();
  }
  return sum / count;
}

function estimated(given) {
  const battle = start(given, 1);
  const tracker = new Tracker(battle.dex);
  tracker.read(battle.log, 0);
  const views = [0, 1].map(seat => perspective(tracker, seat, battle.sides[seat].activeRequest, []));
  const [attacker, defender] = [views[0].ownActive[0], views[1].ownActive[0]];
  const move = attacker.moves[Number(given.move.split(' ')[1]) - 1].id;
  const field = fieldFor(views[0], views[0].foeTeam, views[0].ownTeam, 2);
  return estimate(battle.dex, factsOf(battle.dex, move), attacker, defender, field, '').share;
}

const cases = JSON.parse(fs.readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(Object.fromEntries(cases.map(given => [given.name, [estimated(given), simulated(given)]]))));
