// The search's own process: it is given what one seat was shown, guesses the rest, and simulates turns.
//
// Frames as in ../worker.js. In: LOOK {room, format, lines, request, worlds, seed, usage}, SIMULATE {room, own, foes,
// cells, ms}, FORGET {room}, POSITION {room, format, lines or teams, sheets, seat, turn, team}: the room as a recorded
// battle left it, WORDS {room, own, foe}: choices as people say them. Out: an ANSWER to each: [u32 bytes of JSON, JSON,
// zeros up to a multiple of 4, float32 observations].
'use strict';

console.log = console.error; // stdout belongs to the frames

const speedup = require('../speed/speedup');
const {writeObservation, size} = require('../observe/encode');
const {recordedPosition} = require('./positions');
const {Room, columns, Declined} = require('./rooms');
const {wordsOf} = require('./words');

const [LOOK, SIMULATE, FORGET, POSITION, WORDS] = [1, 2, 3, 4, 5];
const ANSWER = 1;
const HEADER = 8;
const MAX_FRAME = 64 << 20;
const MOST_CELLS = 4096;

const rooms = new Map();
if (process.env.PVP_ML_STOCK !== '1') speedup.install();

function answer(facts, rows) {
  const json = Buffer.from(JSON.stringify(facts));
  const start = 4 + json.length + (4 - json.length % 4) % 4;
  const payload = Buffer.alloc(start + 4 * size * rows.length);
  payload.writeUInt32LE(json.length, 0);
  json.copy(payload, 4);
  rows.forEach((row, i) => Buffer.from(row.buffer).copy(payload, start + 4 * size * i));
  const head = Buffer.alloc(HEADER);
  head.writeUInt32LE(payload.length, 0);
  head.writeUInt32LE(ANSWER, 4);
  process.stdout.write(head);
  process.stdout.write(payload);
}

function encode(view, format) {
  const obs = new Float32Array(size);
  writeObservation(obs, view, format);
  return obs;
}

// The own view first, then the foe's in each world where it has to choose.
function look({room, format, lines, request, worlds, seed, usage}) {
  if (!rooms.has(room)) rooms.set(room, new Room(format));
  const state = rooms.get(room);
  state.hear(lines, request);
  const rows = [encode(state.ownView(), format)];
  const facts = {size, seat: state.seat, mask: columns(request), foes: [], declined: ''};
  try {
    state.imagine(worlds, seed, usage);
  } catch (error) {
    if (!(error instanceof Declined)) throw error;
    facts.declined = error.message;
    state.close();
  }
  for (const world of state.worlds) {
    const asked = world.battle.sides[1 - state.seat].activeRequest;
    facts.foes.push(asked.wait ? [] : columns(asked));
    rows.push(encode(state.view(world), format));
  }
  return [facts, rows];
}

// cells: [world, row of `own`, row of `foes[world]` or −1, seed], in the order in which they are worth simulating.
function simulate({room, own, foes, cells, ms, log}) {
  const state = rooms.get(room);
  const until = ms ? Date.now() + ms : Infinity;
  const facts = {results: [], material: [], valid: [], logs: []};
  const rows = [];
  for (const [world, i, j, seed] of cells.slice(0, MOST_CELLS)) {
    if (Date.now() >= until) break;
    const leaf = state.simulate(world, own[i], j < 0 ? null : foes[world][j], seed);
    const result = leaf && leaf.result(state.seat);
    facts.valid.push(leaf ? 1 : 0);
    facts.results.push(result);
    facts.material.push(leaf ? leaf.material(state.seat) : 0);
    if (log && leaf) facts.logs.push(leaf.battle.log.filter(line => !line.startsWith('|t:|')));
    if (leaf && result === null) rows.push(encode(leaf.view(state.seat), state.format), encode(leaf.view(1 - state.seat), state.format));
    if (leaf) leaf.battle.destroy();
  }
  return [facts, rows];
}

function forget({room}) {
  if (rooms.has(room)) rooms.get(room).close();
  rooms.delete(room);
  return [{}, []];
}

function position(message) {
  let found;
  try {
    found = recordedPosition(message);
  } catch (error) {
    return [{refused: error.message}, []]; // what people hand in may be anything
  }
  const {tracker, request, home} = found;
  const state = new Room(message.format);
  Object.assign(state, {tracker, request, home, seat: message.seat});
  rooms.set(message.room, state);
  return [{request, turn: tracker.turn}, []];
}

// Choices of ours, and of the foe in the first world.
function words({room, own, foe}) {
  const state = rooms.get(room);
  const foeView = foe.length ? state.view(state.worlds[0]) : null;
  return [{own: own.map(picks => wordsOf(state.ownView(), picks)), foe: foe.map(picks => wordsOf(foeView, picks))}, []];
}

function handle(kind, message) {
  let reply;
  try {
    reply = {[LOOK]: look, [SIMULATE]: simulate, [FORGET]: forget, [POSITION]: position, [WORDS]: words}[kind](message);
  } catch (error) {
    reply = [{error: String(error && error.stack || error).slice(0, 2000)}, []];
  }
  answer(...reply);
}

let buffered = Buffer.alloc(0);
process.stdin.on('data', chunk => {
  buffered = buffered.length ? Buffer.concat([buffered, chunk]) : chunk;
  while (buffered.length >= HEADER) {
    const length = buffered.readUInt32LE(0);
    if (length > MAX_FRAME) throw new Error(`frame of ${length} bytes exceeds ${MAX_FRAME}`);
    if (buffered.length < HEADER + length) break;
    const message = JSON.parse(buffered.subarray(HEADER, HEADER + length).toString());
    const kind = buffered.readUInt32LE(4);
    buffered = buffered.subarray(HEADER + length);
    handle(kind, message);
  }
});
process.stdin.on('end', () => process.exit(0)); // our parent is gone
process.stdout.on('error', () => process.exit(0));
