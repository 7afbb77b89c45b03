// Views of battles that are played elsewhere: takes what one seat was shown, answers with its observation and mask.
//
// JSON lines on stdin, one answer a line on stdout. {id, room, format, lines, request} → {id, seat, obs (base64), mask
// (legal columns)}; the same with {bot, seed} → {id, picks} of that bot; {id, room, picks} → {id, choice};
// {id, room, forget: true} → {id}. An error answers {id, error}.
'use strict';

console.log = console.error; // stdout belongs to the answers

const readline = require('readline');
const {BOTS} = require('./bots/bots');
const legal = require('./legal');
const {Dex} = require('./simulator');
const {writeObservation, size} = require('./observe/encode');
const {perspective} = require('./seen/perspective');
const {generator} = require('./seeds');
const {Tracker} = require('./seen/tracker');

const rooms = new Map();
const mask = new Uint8Array(legal.MASK_SIZE);
const obs = new Float32Array(size);

function roomOf({room, format}) {
  if (!rooms.has(room)) rooms.set(room, {tracker: new Tracker(Dex.forFormat(format)), home: [], format, request: null});
  return rooms.get(room);
}

// A server that is asked again sends the whole battle again; then everything is read again.
function read(state, lines) {
  if (lines.some(line => line.startsWith('|init|'))) state.tracker = new Tracker(state.tracker.dex);
  state.tracker.read(lines, 0);
}

function look(message) {
  const state = roomOf(message);
  read(state, message.lines);
  const request = state.request = message.request;
  const seat = Number(request.side.id[1]) - 1;
  if (request.teamPreview) state.home = request.side.pokemon;
  legal.writeMask(request, mask);
  const view = perspective(state.tracker, seat, request, state.home);
  if (message.bot) return {picks: BOTS[message.bot](view, mask, generator(message.seed, seat))};
  writeObservation(obs, view, state.format);
  return {seat, obs: Buffer.from(obs.buffer).toString('base64'), mask: Array.from(mask.keys()).filter(i => mask[i])};
}

function answer(message) {
  if (message.forget) {
    rooms.delete(message.room);
    return {};
  }
  if (message.picks) return {choice: legal.spell(rooms.get(message.room).request, ...message.picks)};
  return look(message);
}

readline.createInterface({input: process.stdin}).on('line', line => {
  const message = JSON.parse(line);
  let reply;
  try {
    reply = answer(message);
  } catch (error) {
    reply = {error: String(error && error.stack || error)};
  }
  process.stdout.write(JSON.stringify({id: message.id, ...reply}) + '\n');
}).on('close', () => process.exit(0));
