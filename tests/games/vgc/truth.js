// Plays battles with the worker's own parts and holds every number of every observation against the simulator's state.
//
// `node truth.js SCRIPTS` with JSON {format, sheets, teams: [text, …], battles, seed, most} on stdin; prints
// {decisions, facts, wrong: [{battle, turn, seat, row, fact, seen, true}, …], byFact: {fact: count}}. Bots choose:
// random ones reach odd states, heuristics sensible ones.
'use strict';

const fs = require('fs');
const path = require('path');

const load = name => require(path.join(process.argv[2], name));
const {Match} = load('match.js');
const {prepare} = load('teams/teams.js');
const {generator} = load('seeds.js');
const {writeObservation, size} = load('observe/encode.js');
const {blocks, idOf} = load('observe/layout.js');
const {perspective} = load('seen/perspective.js');
const {Tracker} = load('seen/tracker.js');
const {extractChannelMessages} = require(path.join(process.env.PVP_ML_SHOWDOWN, 'dist', 'sim', 'battle.js'));
const {World, expectedRows, expectedGlobal, expectedSides, expectedSlots, expectedAttacks} = require('./truth_state.js');

const wanted = JSON.parse(fs.readFileSync(0, 'utf8'));
const packed = wanted.teams.map(text => prepare(wanted.format, text)).filter(team => !team.problems.length).map(team => team.packed);
const report = {decisions: 0, facts: 0, battles: 0, faults: [], wrong: [], byFact: {}};
const obs = new Float32Array(size);
const other = new Float32Array(size);
const CLOSE = 1e-5;

function note(where, fact, seen, truth) {
  report.byFact[fact] = (report.byFact[fact] || 0) + 1;
  if (report.wrong.length < (wanted.most || 20)) report.wrong.push({...where, fact, seen, true: truth});
}

// `expected` maps features to the number that is right, or to a list of those that are.
function compare(where, block, row, expected) {
  const {at, width, place} = blocks[block];
  for (const [feature, truth] of Object.entries(expected)) {
    const seen = obs[at + row * width + place[feature]];
    report.facts++;
    if (![truth].flat().some(right => Math.abs(seen - right) <= CLOSE)) note({...where, block, row}, `${block}.${feature}`, seen, truth);
  }
}

// The same view from nothing but what the simulator's own channel gives this seat.
function fromChannel(match, seat, home) {
  const lines = extractChannelMessages(match.battle.log.join('\n'), [seat + 1])[seat + 1];
  const tracker = new Tracker(match.battle.dex);
  tracker.read(lines, 0);
  return perspective(tracker, seat, match.request(seat), home);
}

function inspect(match, world, seat) {
  const battle = match.battle;
  const where = {battle: match.plan.serial, turn: battle.turn, seat};
  writeObservation(obs, match.perspective(seat), match.plan.format);
  report.decisions++;
  compare(where, 'global', 0, expectedGlobal(world, match.plan));
  expectedSides(world, seat).forEach((side, row) => compare(where, 'side', row, side));
  expectedSlots(world, seat).forEach((slot, row) => compare(where, 'slot', row, slot));
  const rows = expectedRows(world, seat, match.plan);
  for (const {row, mon, expected} of rows) compare({...where, mon}, 'pokemon', row, expected);
  for (const [block, side, from] of [['attacks', seat, 0], ['threats', 1 - seat, 6]]) {
    const known = rows.filter(({row}) => row >= from && row < from + 6);
    for (const {row, expected} of expectedAttacks(world, battle.sides[side].active, known)) compare(where, block, row, expected);
  }
  if (report.decisions % 10 === 0) {
    writeObservation(other, fromChannel(match, seat, match.home[seat]), match.plan.format);
    // A seat's own channel gives its own HP exactly and the shared one in percent; own rows come from the request, so
    // the two must agree in everything.
    const at = other.findIndex((value, i) => value !== obs[i]);
    if (at >= 0) note(where, 'channel', obs[at], `${at}: ${other[at]}`);
  }
}

function play(number) {
  const random = generator(wanted.seed + number, 7);
  const teams = [0, 1].map(() => packed[Math.floor(random() * packed.length)]);
  const match = new Match({
    slot: 0, serial: number, seed: String(wanted.seed + number), format: wanted.format, sheets: wanted.sheets, teams,
    bots: [0, 1].map(() => random() < 0.5 ? 'random' : 'heuristics'), maxSteps: 300, keepLog: false,
  });
  const world = new World(match.battle, idOf);
  match.begin();
  while (!match.over) {
    world.update();
    for (const seat of [0, 1]) if (match.pending[seat]) inspect(match, world, seat);
    match.step([[0, 0, 0], [0, 0, 0]]);
  }
  if (match.fault) report.faults.push(match.faultText);
  report.battles++;
  match.close();
}

for (let number = 0; number < wanted.battles; number++) play(number);
process.stdout.write(JSON.stringify(report));
