// A worker process: steps many battles, taking commands on stdin and answering on stdout, both in binary frames.
//
// A frame is [u32 payload bytes, u32 kind] and the payload, little-endian. In: START (JSON list of plans), ACTIONS
// (rows of i32 slot and i32[2][3] picks), ASK (JSON question), TEAMS (JSON {name: PokePaste text}, before the plans
// that name them). Out: ROWS (fixed-size records), NEWS (JSON).
'use strict';

console.log = console.error; // stdout belongs to the frames

const {Worker} = require('worker_threads');
const speedup = require('./speed/speedup');
const {Match, FAULT} = require('./match');
const {writeRecord, writeFault, RECORD_SIZE, OFFSETS, SIGNALS, REWARDS} = require('./record');
const layout = require('./observe/layout');
const {Teams} = require('./simulator');
const legal = require('./legal');
const {read: readTeam} = require('./teams/teams');
const {scene} = require('./scene');

const START = 1;
const ACTIONS = 2;
const ASK = 3;
const TEAMS = 4;
const ROWS = 1;
const NEWS = 2;
const HEADER = 8;
const ACTION_BYTES = 4 + 2 * 3 * 4;
const FLUSH_ROWS = 16; // answer in pieces, so that the reader can work on the first ones
const MAX_FRAME = 64 << 20;

const matches = new Map(); // slot → Match
const teams = new Map(); // name → packed team
const curtains = new Map(); // slot → pictures of a match that was drawn and is over: everybody's, seat 0's, seat 1's
const totals = {battles: 0, decisions: 0, unavailable: 0, rejected: 0, faults: 0};
const refused = process.env.PVP_ML_STOCK === '1' ? 'switched off' : speedup.install();

let output = null;
let rows = 0;

function frame(kind, payload) {
  const head = Buffer.alloc(HEADER);
  head.writeUInt32LE(payload.length, 0);
  head.writeUInt32LE(kind, 4);
  process.stdout.write(head);
  process.stdout.write(payload);
}

const news = value => frame(NEWS, Buffer.from(JSON.stringify(value)));

function flush() {
  if (rows) frame(ROWS, output.subarray(0, rows * RECORD_SIZE));
  output = null;
  rows = 0;
}

function nextRow() {
  if (output === null) output = Buffer.from(new ArrayBuffer(FLUSH_ROWS * RECORD_SIZE));
  return rows * RECORD_SIZE;
}

// The log as a spectator sees it, which is what replays hold: of a split line only the shared half.
function spectatorLog(log) {
  const lines = [];
  for (let at = 0; at < log.length; at++) {
    if (log[at].startsWith('|split|')) at += 2;
    if (log[at]) lines.push(log[at]);
  }
  return lines;
}

// What one seat is shown of log[from…]: of a split line its own half or the shared one.
function channel(log, from, seat) {
  const lines = [];
  for (let at = from; at < log.length; at++) {
    let line = log[at];
    if (line.startsWith('|split|')) {
      line = log[at + (line === `|split|p${seat + 1}` ? 1 : 2)];
      at += 2;
    }
    if (line) lines.push(line);
  }
  return lines;
}

function finish(match) {
  totals.battles++;
  for (const seat of [0, 1]) {
    totals.decisions += match.decisions[seat];
    totals.unavailable += match.unavailable[seat];
  }
  totals.rejected += match.rejected;
  if (match.fault) totals.faults++;
  if (match.plan.keepLog && match.battle) {
    news({log: spectatorLog(match.battle.log), inputLog: match.battle.inputLog, serial: match.plan.serial});
  }
  if (match.drawn && match.battle && !match.fault) curtains.set(match.plan.slot, [null, 0, 1].map(seat => draw(match, seat)));
  matches.delete(match.plan.slot);
  match.close();
}

const draw = (match, seat) => scene(match, seat, spectatorLog(match.battle.log.slice(match.stepFrom)));

// Runs one piece of a match and appends its row; an exception of the simulator voids this match only.
function advance(match, plan, work) {
  const at = nextRow();
  try {
    match = work(match);
    writeRecord(output, at, match);
    if (match.fault) news({fault: match.faultText, serial: plan.serial});
  } catch (error) {
    news({fault: String(error && error.stack || error), serial: plan.serial});
    writeFault(output, at, plan, FAULT.crashed);
    if (match) match.fault = FAULT.crashed;
    else totals.faults++;
  }
  if (match && match.over) finish(match);
  rows++;
  if (rows === FLUSH_ROWS) flush();
}

function start(plans) {
  for (const plan of plans) {
    curtains.delete(plan.slot);
    const old = matches.get(plan.slot);
    if (old) old.close();
    advance(null, plan, () => {
      const match = new Match({...plan, teams: plan.teams.map(name => teams.get(name))});
      matches.set(plan.slot, match);
      match.begin();
      return match;
    });
  }
}

function act(payload) {
  for (let at = 0; at + ACTION_BYTES <= payload.length; at += ACTION_BYTES) {
    const match = matches.get(payload.readInt32LE(at));
    if (!match) continue; // voided in the meantime
    const picks = [0, 1].map(seat => [0, 1, 2].map(head => payload.readInt32LE(at + 4 + 4 * (3 * seat + head))));
    advance(match, match.plan, playing => {
      playing.step(picks);
      return playing;
    });
  }
}

function learn(texts) {
  for (const [name, text] of Object.entries(texts)) teams.set(name, Teams.pack(readTeam(text)));
}

const questions = {
  stats: () => {
    const cpu = process.cpuUsage();
    return {cpu_s: (cpu.user + cpu.system) / 1e6, rss_bytes: process.memoryUsage().rss, ...totals};
  },
  scene: ({slot, seat}) => {
    const match = matches.get(slot);
    if (!match) return curtains.get(slot)?.[seat === null ? 0 : seat + 1] || null;
    match.drawn = true;
    return draw(match, seat);
  },
  briefing: ({slot, seat, start}) => {
    const match = matches.get(slot);
    if (!match) return null;
    const {log} = match.battle;
    return {format: match.plan.format, lines: channel(log, start, seat), request: match.request(seat), next: log.length};
  },
  view: ({slot}) => {
    const match = matches.get(slot);
    if (!match) return {resting: true};
    return {
      serial: match.plan.serial, format: match.plan.format, turn: match.tracker.turn, log: spectatorLog(match.battle.log),
      seats: [0, 1].map(seat => ({acting: match.isActing(seat), request: match.request(seat)})),
    };
  },
};

function answer(question) {
  const handler = questions[question.ask];
  news({answer: question.id, value: handler ? handler(question) : null});
}

function handle(kind, payload) {
  if (kind === START) start(JSON.parse(payload.toString()));
  else if (kind === ACTIONS) act(payload);
  else if (kind === TEAMS) learn(JSON.parse(payload.toString()));
  else if (kind === ASK) answer(JSON.parse(payload.toString()));
  else throw new Error(`unknown frame kind ${kind}`);
  flush();
}

function listen() {
  let buffered = Buffer.alloc(0);
  process.stdin.on('data', chunk => {
    buffered = buffered.length ? Buffer.concat([buffered, chunk]) : chunk;
    while (buffered.length >= HEADER) {
      const length = buffered.readUInt32LE(0);
      if (length > MAX_FRAME) throw new Error(`frame of ${length} bytes exceeds ${MAX_FRAME}`);
      if (buffered.length < HEADER + length) break;
      const payload = buffered.subarray(HEADER, HEADER + length);
      const kind = buffered.readUInt32LE(4);
      buffered = buffered.subarray(HEADER + length);
      handle(kind, payload);
    }
  });
  process.stdin.on('end', () => process.exit(0)); // our parent is gone
  process.stdout.on('error', () => process.exit(0));
}

// A second thread ends the process when the parent dies while a battle keeps the main thread busy.
function watchParent() {
  const source = `
    const parent = ${process.ppid};
    setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL'); }, 2000);`;
  new Worker(source, {eval: true, resourceLimits: {maxOldGenerationSizeMb: 8}}).unref();
}

listen();
if (process.platform !== 'win32') watchParent();
news({
  hello: {
    record: RECORD_SIZE, offsets: OFFSETS, obs: layout.size, privileged: layout.privilegedSize, mask: legal.MASK_SIZE,
    signals: SIGNALS, rewards: REWARDS, layout: layout.version, speedup: refused,
  },
});
