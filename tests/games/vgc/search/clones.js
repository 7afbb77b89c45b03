// Clones battles at every request, plays each clone out with the choices that its original then got, and compares.
//
// `node clones.js SCRIPTS` with JSON {format, teams, clones, seed} on stdin; prints {clones, lines, different, ms, heap_mb}.
'use strict';

const fs = require('fs');
const path = require('path');

const scripts = process.argv[2];
const load = name => require(path.join(scripts, name));
load('speed/speedup.js').install();
const {Battle, Teams} = load('simulator.js');
const {cloneBattle} = load('search/clone.js');
const {generator, battleSeed} = load('seeds.js');
const legal = load('legal.js');

const wanted = JSON.parse(fs.readFileSync(0, 'utf8'));
const packed = wanted.teams.map(text => Teams.pack(Teams.import(text)));
const mask = new Uint8Array(legal.MASK_SIZE);

function randomChoice(request, random) {
  legal.writeMask(request, mask);
  if (request.teamPreview) {
    const options = [...mask.keys()].slice(1, legal.PREVIEW_SIZE).filter(i => mask[i]);
    return legal.spell(request, options[Math.floor(random() * options.length)], legal.PASS, legal.PASS);
  }
  const pairs = legal.jointChoices(mask);
  return legal.spell(request, 0, ...pairs[Math.floor(random() * pairs.length)]);
}

// Everybody who is asked answers; a refused choice stays in the list, so that a clone is refused too.
function goOn(battle, random) {
  const said = [];
  for (const side of battle.sides) {
    for (let tries = 0; !battle.ended && side.activeRequest && !side.activeRequest.wait && !side.isChoiceDone(); tries++) {
      said.push([side.id, tries < 3 ? randomChoice(side.activeRequest, random) : 'default']);
      battle.choose(...said[said.length - 1]);
    }
  }
  battle.sentLogPos = battle.log.length;
  return said;
}

// Everything that was said after `from`, and the numbers of the state at the end.
function traceOf(battle, from) {
  const state = battle.sides.map(side => side.pokemon.map(mon => [mon.fullname, mon.hp, mon.status, mon.item, mon.ability,
    mon.boosts, mon.moveSlots.map(slot => slot.pp), Object.keys(mon.volatiles), mon.getHealth().shared, mon.getFullDetails().secret]));
  const lines = battle.log.slice(from).filter(line => !line.startsWith('|t:|'));
  return JSON.stringify([lines, battle.prng.getSeed(), battle.winner, state]);
}

function play(number, counts) {
  const random = generator(String(wanted.seed + number), 5);
  const battle = new Battle({formatid: wanted.format, seed: battleSeed(wanted.seed + number)});
  for (const id of ['p1', 'p2']) {
    battle.setPlayer(id, {name: id, team: Teams.unpack(packed[Math.floor(random() * packed.length)])});
  }
  const clones = []; // {battle, from, next}: what it is, where its log begins, which choice comes next
  const choices = [];
  while (!battle.ended) {
    const before = process.hrtime.bigint();
    clones.push({battle: cloneBattle(battle), from: battle.log.length, next: choices.length});
    counts.ns += Number(process.hrtime.bigint() - before);
    choices.push(...goOn(battle, random));
  }
  for (const clone of clones.slice(0, wanted.clones - counts.clones)) {
    for (const [id, text] of choices.slice(clone.next)) {
      clone.battle.choose(id, text);
      clone.battle.sentLogPos = clone.battle.log.length;
    }
    const one = traceOf(clone.battle, clone.from);
    if (one !== traceOf(battle, clone.from)) counts.different++;
    counts.lines += clone.battle.log.length - clone.from;
    counts.clones++;
  }
}

const counts = {clones: 0, lines: 0, different: 0, ns: 0};
for (let number = 0; counts.clones < wanted.clones; number++) play(number, counts);
if (global.gc) global.gc();
const {ns, ...found} = counts;
process.stdout.write(JSON.stringify({...found, ms: ns / 1e6 / counts.clones, heap_mb: process.memoryUsage().heapUsed / 2 ** 20}));
