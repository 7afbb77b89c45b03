// Is the speed-up still the same simulator? Plays each battle twice, stock and sped up, and compares the whole logs.
//
// `node golden.js COUNT` reads JSON {format: [PokePaste text, …]} on stdin and prints one JSON line per format.
'use strict';

const crypto = require('crypto');
const fs = require('fs');
const {Battle, Teams} = require('./simulator');
const legal = require('./legal');
const speedup = require('./speed/speedup');
const {battleSeed, generator} = require('./seeds');

const MAX_CHOICES = 2000;

function randomChoice(request, mask, random) {
  legal.writeMask(request, mask);
  if (request.teamPreview) {
    const options = [];
    for (let i = 1; i < legal.PREVIEW_SIZE; i++) if (mask[i]) options.push(i);
    return legal.spell(request, options[Math.floor(random() * options.length)], legal.PASS, legal.PASS);
  }
  const pairs = legal.jointChoices(mask);
  const [first, second] = pairs[Math.floor(random() * pairs.length)];
  return legal.spell(request, 0, first, second);
}

// The log of one random battle without time stamps; every choice follows from the seed.
function playLog(format, teams, seed) {
  const random = generator(seed, 0);
  const mask = new Uint8Array(legal.MASK_SIZE);
  const battle = new Battle({formatid: format, seed: battleSeed(seed), send: () => {}});
  for (const i of [0, 1]) {
    const team = Teams.import(teams[Math.floor(random() * teams.length)]);
    battle.setPlayer(`p${i + 1}`, {name: `Seat ${i + 1}`, team});
  }
  for (let n = 0; n < MAX_CHOICES && !battle.ended; n++) {
    battle.sentLogPos = battle.log.length;
    for (const side of battle.sides) {
      if (side.requestState && !side.isChoiceDone()) battle.choose(side.id, randomChoice(side.activeRequest, mask, random));
    }
  }
  const log = battle.log.filter(line => !line.startsWith('|t:|')).join('\n');
  battle.destroy();
  return log;
}

const digest = text => crypto.createHash('sha256').update(text).digest('hex').slice(0, 16);

// Battles whose logs differ between stock and speed-up, per format.
function compare(teamsByFormat, count) {
  const refused = speedup.install();
  const report = [];
  for (const [format, teams] of Object.entries(teamsByFormat)) {
    const hash = crypto.createHash('sha256');
    let different = 0;
    let lines = 0;
    for (let seed = 1; seed <= count; seed++) {
      speedup.uninstall();
      const slow = playLog(format, teams, seed);
      speedup.install();
      if (playLog(format, teams, seed) !== slow) different++;
      hash.update(digest(slow));
      lines += slow.split('\n').length;
    }
    report.push({format, battles: count, different, lines, digest: hash.digest('hex').slice(0, 16), refused});
  }
  return report;
}

if (require.main === module) {
  const teams = JSON.parse(fs.readFileSync(0, 'utf8'));
  for (const line of compare(teams, Number(process.argv[2]))) console.log(JSON.stringify(line));
}

module.exports = {compare, playLog};
