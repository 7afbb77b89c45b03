// One row of an answer as bytes. The Python side maps the same fields with a NumPy dtype (games/vgc/node/frames.py).
'use strict';

const legal = require('./legal');
const {BOTS} = require('./bots/bots');
const {writeObservation, writePrivileged, size, privilegedSize} = require('./observe/encode');

const SIGNALS = ['turn', 'foe_fainted', 'own_fainted', 'damage_dealt', 'damage_taken', 'gimmick', 'unavailable', 'decisions'];
const REWARDS = ['win', 'foe_fainted', 'own_fainted', 'damage_dealt', 'damage_taken', 'foe_statused', 'own_statused'];
const HEADER = 32;
const HEADS = 3;

const align = bytes => Math.ceil(bytes / 8) * 8;

const OFFSETS = (() => {
  let at = HEADER;
  const take = bytes => {
    const start = at;
    at = align(at + bytes);
    return start;
  };
  return {
    signals: take(2 * SIGNALS.length * 4), rewards: take(2 * REWARDS.length * 4), advice: take(2 * HEADS * 4),
    obs: take(2 * size * 4),
    privileged: take(2 * privilegedSize * 4), mask: take(2 * legal.MASK_SIZE), total: take(0),
  };
})();

const RECORD_SIZE = OFFSETS.total;

function writeHeader(buffer, at, match) {
  buffer.writeInt32LE(match.plan.slot, at);
  buffer.writeInt32LE(match.fault, at + 4);
  buffer.writeDoubleLE(match.plan.serial, at + 8);
  buffer.writeInt32LE(match.steps, at + 16);
  buffer.writeInt32LE(match.tracker.turn, at + 20);
  buffer.writeUInt8(!match.over && match.isActing(0) ? 1 : 0, at + 24);
  buffer.writeUInt8(!match.over && match.isActing(1) ? 1 : 0, at + 25);
  buffer.writeUInt8(match.ended ? 1 : 0, at + 26);
  buffer.writeUInt8(match.truncated ? 1 : 0, at + 27);
  buffer.writeInt8(match.result(0), at + 28);
  buffer.writeInt8(match.result(1), at + 29);
}

function signalsOf(own, foe, turn) {
  return {
    turn, foe_fainted: foe.fainted, own_fainted: own.fainted, damage_dealt: Math.max(-foe.hp, 0),
    damage_taken: Math.max(-own.hp, 0), gimmick: own.gimmick, unavailable: own.unavailable, decisions: own.decisions,
    foe_statused: foe.statused, own_statused: own.statused,
  };
}

function writeNumbers(buffer, at, match) {
  const changed = match.changes();
  for (const seat of [0, 1]) {
    const facts = signalsOf(changed[seat], changed[1 - seat], match.tracker.turn);
    facts.win = match.result(seat);
    SIGNALS.forEach((name, i) => buffer.writeFloatLE(facts[name], at + OFFSETS.signals + 4 * (seat * SIGNALS.length + i)));
    REWARDS.forEach((name, i) => buffer.writeFloatLE(facts[name], at + OFFSETS.rewards + 4 * (seat * REWARDS.length + i)));
  }
}

// What the plan's adviser would do in this seat; IDLE without one.
function writeAdvice(buffer, at, match, seat, view, mask) {
  const adviser = match.plan.adviser && !match.over && match.isActing(seat) ? BOTS[match.plan.adviser] : null;
  const picks = adviser ? adviser(view, mask, match.random[seat]) : null;
  for (let head = 0; head < HEADS; head++) {
    buffer.writeInt32LE(picks ? picks[head] : legal.IDLE, at + OFFSETS.advice + 4 * (seat * HEADS + head));
  }
}

// Writes the row of `match` at `at`; `buffer` starts at a multiple of 8 and rows keep that alignment.
function writeRecord(buffer, at, match) {
  writeHeader(buffer, at, match);
  writeNumbers(buffer, at, match);
  const start = buffer.byteOffset + at;
  const floats = (offset, count) => new Float32Array(buffer.buffer, start + offset, count);
  for (const seat of [0, 1]) {
    const isRead = !match.isBot(seat);
    const view = isRead || privilegedSize || match.plan.adviser ? match.perspective(seat) : null;
    const obs = floats(OFFSETS.obs + seat * size * 4, size);
    if (isRead) writeObservation(obs, view, match.plan.format);
    else obs.fill(0);
    if (privilegedSize) writePrivileged(floats(OFFSETS.privileged + (1 - seat) * privilegedSize * 4, privilegedSize), view);
    const request = !match.over && match.isActing(seat) ? match.request(seat) : null;
    const mask = new Uint8Array(buffer.buffer, start + OFFSETS.mask + seat * legal.MASK_SIZE, legal.MASK_SIZE);
    legal.writeMask(request, mask);
    writeAdvice(buffer, at, match, seat, view, mask);
  }
}

// A row for a match that cannot be looked at any more: header only, the rest zero.
function writeFault(buffer, at, plan, fault) {
  buffer.fill(0, at, at + RECORD_SIZE);
  buffer.writeInt32LE(plan.slot, at);
  buffer.writeInt32LE(fault, at + 4);
  buffer.writeDoubleLE(plan.serial, at + 8);
}

module.exports = {writeRecord, writeFault, RECORD_SIZE, OFFSETS, SIGNALS, REWARDS};
