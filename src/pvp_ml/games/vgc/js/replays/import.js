// Battles that others recorded, as decisions: `node import.js` with JSON {battles: [{format, lines}], sheets} on stdin.
//
// Lines that begin with ">" are an input log and are played again, lines that begin with "|" are a spectator's log and
// are reconstructed. Prints one line per decision {battle, seat, obs (base64), mask, picks}, and per battle a line
// {battle, decisions, hidden, won, reasons} or {battle, error}.
'use strict';

console.log = console.error; // stdout belongs to the answers

const fs = require('fs');
const {writeObservation, size} = require('../observe/encode');
const {perspective} = require('../seen/perspective');
const {Reconstruction} = require('./reconstruct');
const {rerun} = require('./rerun');

const say = value => fs.writeSync(1, JSON.stringify(value) + '\n');

function teller(battle, format) {
  return {
    look(seat, tracker, request, home) {
      const obs = new Float32Array(size);
      writeObservation(obs, perspective(tracker, seat, request, home), format);
      return Buffer.from(obs.buffer).toString('base64');
    },
    send(seat, obs, mask, picks) {
      say({battle, seat, obs, mask: Array.from(mask.keys()).filter(i => mask[i]), picks});
    },
  };
}

function tellBattle(battle, {format, lines}, sheets) {
  const emit = teller(battle, format);
  const isInput = lines.some(line => line.startsWith('>start '));
  return isInput ? rerun(lines, sheets, emit) : new Reconstruction(format, lines, emit).run();
}

const wanted = JSON.parse(fs.readFileSync(0, 'utf8'));
wanted.battles.forEach((battle, number) => {
  try {
    say({battle: number, ...tellBattle(number, battle, wanted.sheets)});
  } catch (error) {
    say({battle: number, error: String(error && error.message || error)});
  }
});
