// Plays seeded random battles with the worker's own parts and prints one JSON line per decision of either seat: the
// lines and the request that the seat got, and the mask and observation that were made of them.
//
// `node trace.js SCRIPTS` with JSON {format, sheets, teams: [text, …], battles, seed, slot_teams?} on stdin.
'use strict';

const fs = require('fs');
const path = require('path');

const scripts = process.argv[2];
const load = name => require(path.join(scripts, name));
const {Match} = load('match.js');
const {Teams} = load('simulator.js');
const {generator} = load('seeds.js');
const legal = load('legal.js');
const {writeObservation, size} = load('observe/encode.js');

const wanted = JSON.parse(fs.readFileSync(0, 'utf8'));
const packed = wanted.teams.map(text => Teams.pack(Teams.import(text)));

// The lines that seat 0 or 1 is shown: of a split line its own half or the shared one.
function channel(log, from, seat) {
  const lines = [];
  let at = from;
  for (; at < log.length; at++) {
    let line = log[at];
    if (line.startsWith('|split|')) {
      line = log[at + (line === `|split|p${seat + 1}` ? 1 : 2)];
      at += 2;
    }
    if (line) lines.push(line);
  }
  return lines;
}

function randomPicks(request, mask, random) {
  if (request.teamPreview) {
    const options = [];
    for (let i = 1; i < legal.PREVIEW_SIZE; i++) if (mask[i]) options.push(i);
    return [options[Math.floor(random() * options.length)], legal.PASS, legal.PASS];
  }
  const pairs = legal.jointChoices(mask);
  return [0, ...pairs[Math.floor(random() * pairs.length)]];
}

function play(number) {
  const random = generator(wanted.seed + number, 7);
  const teams = wanted.fixed ? packed : [0, 1].map(() => packed[Math.floor(random() * packed.length)]);
  const match = new Match({
    slot: 0, serial: number, seed: String(wanted.seed + number), format: wanted.format, sheets: wanted.sheets, teams,
    bots: ['', ''], maxSteps: 1000, keepLog: false,
  });
  const read = [0, 0];
  const mask = new Uint8Array(legal.MASK_SIZE);
  const obs = new Float32Array(size);
  match.begin();
  while (!match.over) {
    const picks = [[0, 0, 0], [0, 0, 0]];
    for (const seat of [0, 1]) {
      if (!match.isActing(seat)) continue;
      const request = match.request(seat);
      legal.writeMask(request, mask);
      writeObservation(obs, match.perspective(seat), wanted.format);
      picks[seat] = randomPicks(request, mask, random);
      const lines = channel(match.battle.log, read[seat], seat);
      read[seat] = match.battle.log.length;
      process.stdout.write(JSON.stringify({
        battle: number, seat, lines, request, picks: picks[seat], joint: legal.jointChoices(mask).length,
        mask: Array.from(mask.keys()).filter(i => mask[i]), obs: Buffer.from(obs.buffer).toString('base64'),
      }) + '\n');
    }
    match.step(picks);
  }
  process.stdout.write(JSON.stringify({
    battle: number, over: true, fault: match.faultText, result: [match.result(0), match.result(1)],
    unavailable: match.unavailable, steps: match.steps, ended: match.ended,
  }) + '\n');
  match.close();
}

for (let number = 0; number < wanted.battles; number++) play(number);
