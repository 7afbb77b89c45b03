// Plays battles, writes each down as a spectator's log, reads it back, and holds every decision against the true one.
//
// `node replay_truth.js SCRIPTS` with JSON {format, sheets, teams: [text, …], battles, seed} on stdin; prints {battles, seen,
// hidden, reasons, wrong: [{battle, turn, seat, seen, true, lines}, …]}. The true choices are those of the input log.
'use strict';

const fs = require('fs');
const path = require('path');

const load = name => require(path.join(process.argv[2], name));
const {Match} = load('match.js');
const {prepare} = load('teams/teams.js');
const {generator} = load('seeds.js');
const {writeObservation, size} = load('observe/encode.js');
const {blocks} = load('observe/layout.js');
const {perspective} = load('seen/perspective.js');
const {Reconstruction} = load('replays/reconstruct.js');
const {rerun} = load('replays/rerun.js');

const wanted = JSON.parse(fs.readFileSync(0, 'utf8'));
const packed = wanted.teams.map(text => prepare(wanted.format, text)).filter(team => !team.problems.length).map(team => team.packed);
const report = {battles: 0, seen: 0, exact: 0, hidden: 0, reasons: {}, wrong: []};
const {at, width, place} = blocks.pokemon;
// Match-ups and the like rest on our own stats, which a replay does not show.
const FOE_FACTS = Object.entries(place).filter(([name]) => !/^(deals|takes)_/.test(name));
const SHOWN_HP = 0.02;

function collector(found, format) {
  return {
    look(seat, tracker, request, home) {
      const obs = new Float32Array(size);
      writeObservation(obs, perspective(tracker, seat, request, home), format);
      const kind = request.teamPreview ? 'preview' : request.forceSwitch ? 'forced' : 'turn';
      return {obs, moment: `${tracker.turn} ${kind}`};
    },
    send(seat, {obs, moment}, mask, picks) {
      found.push({seat, obs, moment, picks: [...picks]});
    },
  };
}

function foeDifference(a, b) {
  for (let row = 6; row < 12; row++) {
    for (const [name, offset] of FOE_FACTS) {
      const i = at + row * width + offset;
      if (Math.abs(a[i] - b[i]) > SHOWN_HP) return `foe row ${row} ${name}: ${b[i]} instead of ${a[i]}`;
    }
  }
  return '';
}

const standingFoes = obs => [6, 7, 8, 9, 10, 11].filter(row => {
  const value = name => obs[at + row * width + place[name]];
  return (value('on_left') || value('on_right')) && !value('fainted');
}).length;

// A choice in words that do not depend on what a replay hides. Where one foe stands, both of its places mean the same; the
// order of those who wait is known to their owner alone, so a switch is named by who comes; with closed sheets moves that
// never appear are missing, so a move is named by its id.
function plain(pick, slot, obs) {
  const own = (row, name) => obs[at + row * width + place[name]];
  if (pick >= 40) return pick < 46 ? `switch to ${own(pick - 40, 'species')}` : 'pass';
  const target = pick % 5 >= 3 && standingFoes(obs) < 2 ? 'the foe' : pick % 5;
  return `move ${own(slot, `move_${Math.floor(pick / 10) + 1}`)} at ${target}${pick % 10 >= 5 ? ' with gimmick' : ''}`;
}

const inWords = ({picks: [preview, ...slots], obs}) => preview ? `preview ${preview}` :
  slots.map((pick, slot) => plain(pick, slot, obs)).join(', ');

function compare(exact, seen, note) {
  const taken = new Set();
  for (const row of seen) {
    const options = exact.filter(other => other.seat === row.seat && other.moment === row.moment && !taken.has(other));
    const same = options.filter(other => inWords(other) === inWords(row));
    const right = same.find(other => !foeDifference(other.obs, row.obs));
    if (right) taken.add(right);
    else note(row, same.length ? foeDifference(same[0].obs, row.obs) : options.map(inWords).join(' or '));
  }
}

const spectators = log => log.filter((line, i) => !line.startsWith('|split|') && !(i > 0 && log[i - 1].startsWith('|split|')));

function play(number) {
  const random = generator(wanted.seed + number, 7);
  const teams = [0, 1].map(() => packed[Math.floor(random() * packed.length)]);
  const match = new Match({
    slot: 0, serial: number, seed: String(wanted.seed + number), format: wanted.format, sheets: wanted.sheets, teams,
    bots: [0, 1].map(() => random() < 0.5 ? 'random' : 'heuristics'), maxSteps: 300, keepLog: false,
  });
  match.begin();
  while (!match.over) match.step([[0, 0, 0], [0, 0, 0]]);
  const lines = spectators(match.battle.log).filter(Boolean);
  const inputs = match.battle.inputLog.slice();
  match.close();
  const [exact, seen] = [[], []];
  rerun(inputs, wanted.sheets, collector(exact, wanted.format));
  const counts = new Reconstruction(wanted.format, lines, collector(seen, wanted.format)).run();
  report.battles++;
  report.seen += seen.length;
  report.exact += exact.length;
  report.hidden += counts.hidden;
  for (const [reason, count] of Object.entries(counts.reasons)) report.reasons[reason] = (report.reasons[reason] || 0) + count;
  compare(exact, seen, (row, truth) => {
    const turn = row.moment.split(' ')[0];
    const from = lines.indexOf(`|turn|${turn}`);
    report.wrong.push({battle: number, moment: row.moment, seat: row.seat, seen: inWords(row), true: truth,
      lines: lines.slice(Math.max(from, 0), lines.indexOf(`|turn|${Number(turn) + 1}`))});
  });
}

for (let number = 0; number < wanted.battles; number++) play(number);
process.stdout.write(JSON.stringify(report));
