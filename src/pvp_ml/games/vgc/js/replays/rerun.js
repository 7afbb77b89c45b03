// An input log played again: exactly what each seat saw, was allowed and chose.
'use strict';

const legal = require('../legal');
const {Match} = require('../match');
const {readChoice} = require('../choices');

const MAX_STEPS = 4000;
const UNKNOWN = 'not one of our choices';

// {start: {formatid, seed}, teams: [packed, packed], choices: [[text, …], [text, …]]} of the lines of an input log.
function readInputs(lines) {
  const found = {start: null, teams: ['', ''], choices: [[], []]};
  for (const line of lines) {
    const [kind, ...rest] = line.slice(1).split(' ');
    const text = rest.join(' ');
    if (kind === 'start') found.start = JSON.parse(text);
    else if (kind === 'player') found.teams[Number(rest[0][1]) - 1] = teamOf(JSON.parse(text.slice(3)).team);
    else if (kind === 'p1' || kind === 'p2') record(found.choices[Number(kind[1]) - 1], text);
  }
  if (!found.start || found.teams.includes('')) throw new Error('an input log needs >start and two >player lines');
  return found;
}

function teamOf(team) {
  return typeof team === 'string' ? team : '';
}

function record(choices, text) {
  if (text === 'undo') choices.pop();
  else choices.push(text);
}

// Sends every choice that is known to `emit` {look, send}; returns {decisions, hidden, won, reasons}.
function rerun(lines, sheets, emit) {
  const {start, teams, choices} = readInputs(lines);
  const plan = {
    slot: 0, serial: 0, seed: '0', prngSeed: start.seed, format: start.formatid, sheets, teams, bots: ['', ''],
    adviser: '', maxSteps: MAX_STEPS, keepLog: false,
  };
  const match = new Match(plan);
  const counts = {decisions: 0, hidden: 0, won: -1, reasons: {}};
  const mask = new Uint8Array(legal.MASK_SIZE);
  match.begin();
  while (!match.over && match.steps++ < MAX_STEPS) {
    const waiting = [0, 1].filter(seat => match.isActing(seat));
    if (!waiting.length || waiting.some(seat => !choices[seat].length)) { // somebody left, or the log ends here
      for (const seat of waiting) emit.look(seat, match.tracker, match.request(seat), match.home[seat]);
      break;
    }
    const asked = waiting.map(seat => [seat, match.request(seat), choices[seat].shift()]);
    const spelled = asked.map(([seat, request, text]) => {
      legal.writeMask(request, mask);
      const picks = readChoice(request, text, mask);
      if (picks) emit.send(seat, emit.look(seat, match.tracker, request, match.home[seat]), mask, picks);
      counts[picks ? 'decisions' : 'hidden']++;
      if (!picks) counts.reasons[UNKNOWN] = (counts.reasons[UNKNOWN] || 0) + 1;
      return picks && !request.teamPreview ? legal.spell(request, ...picks) : text; // by index: names fail when locked
    });
    asked.forEach(([seat], i) => match.choose(seat, spelled[i]));
    if (match.fault) break;
    match.refresh();
  }
  counts.won = match.ended ? [0, 1].find(seat => match.result(seat) === 1) ?? -1 : -1;
  match.close();
  return counts;
}

module.exports = {rerun};
