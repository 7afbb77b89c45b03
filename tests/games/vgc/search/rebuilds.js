// Rebuilds battles at every request from one seat's knowledge, hidden sets filled in with the truth, and compares what
// the rebuilt battle asks of both seats with what the true one asks.
//
// `node rebuilds.js SCRIPTS` with JSON {format, sheets, teams, battles, seed} on stdin.
'use strict';

const fs = require('fs');
const path = require('path');

const scripts = process.argv[2];
const load = name => require(path.join(scripts, name));
load('speed/speedup.js').install();
const {Match} = load('match.js');
const {Teams} = load('simulator.js');
const {BOTS} = load('bots/bots.js');
const {generator} = load('seeds.js');
const legal = load('legal.js');
const {rebuild, Declined} = load('search/rebuild.js');

const wanted = JSON.parse(fs.readFileSync(0, 'utf8'));
const packed = wanted.teams.map(text => Teams.pack(Teams.import(text)));
const counts = {positions: 0, own: 0, foe: 0, declined: {}, errors: {}, differences: {}};
const count = (table, key) => { table[key] = (table[key] || 0) + 1; };

function maskOf(request) {
  const mask = new Uint8Array(legal.MASK_SIZE);
  legal.writeMask(request, mask);
  return mask;
}

const asked = request => JSON.stringify(request.active || request.forceSwitch || 'wait').slice(0, 500);

function truePosition(match, seat) {
  const side = match.battle.sides[1 - seat];
  const names = match.home[1 - seat].map(entry => entry.ident.slice(4));
  const sets = Teams.unpack(match.plan.teams[1 - seat]).map((set, i) => {
    const now = side.pokemon.find(mon => mon.name === names[i]);
    return {...set, level: 50, ...(now ? {item: now.item, species: now.baseSpecies.name, ability: now.baseAbility} : {})};
  });
  return {
    format: match.plan.format, tracker: match.tracker, seat, request: match.request(seat), home: match.home[seat], sets,
    brought: side.pokemon.map(mon => names.indexOf(mon.name)), seed: '1,2,3,4',
  };
}

function check(match, seat, random) {
  counts.positions++;
  let battle;
  try {
    battle = rebuild(truePosition(match, seat), random);
  } catch (error) {
    return error instanceof Declined ? count(counts.declined, error.message) : count(counts.errors, String(error.stack).slice(0, 300));
  }
  for (const n of [0, 1]) {
    const [truth, made] = [match.request(n), battle.sides[n].activeRequest];
    const same = maskOf(truth).join() === maskOf(made).join();
    if (same) counts[n === seat ? 'own' : 'foe']++;
    else count(counts.differences, `${n === seat ? 'own' : 'foe'} ${asked(truth)} / ${asked(made)}`);
  }
  battle.destroy();
}

function play(number) {
  const random = generator(String(wanted.seed + number), 7);
  const teams = [0, 1].map(() => packed[Math.floor(random() * packed.length)]);
  const match = new Match({
    slot: 0, serial: number, seed: String(wanted.seed + number), format: wanted.format, sheets: wanted.sheets, teams, bots: ['', ''],
    maxSteps: 300, keepLog: false,
  });
  match.begin();
  while (!match.over) {
    const picks = [0, 1].map(seat => {
      if (!match.isActing(seat)) return [0, 0, 0];
      check(match, seat, random);
      const bot = random() < 0.5 ? 'heuristics' : 'random';
      return BOTS[bot](match.perspective(seat), maskOf(match.request(seat)), random);
    });
    match.step(picks);
  }
  match.close();
}

for (let number = 0; number < wanted.battles; number++) play(number);
process.stdout.write(JSON.stringify(counts));
