// Choice strings, as people and logs write them, back into picks.
'use strict';

const legal = require('./legal');
const {toID} = require('./simulator');

const {PASS, SWITCH, SLOTS, TARGETS} = legal;
const GIMMICKS = new Set(['terastallize', 'mega', 'megax', 'megay']);
const NO_TARGET = TARGETS.indexOf(0);

function readSwitch(request, word) {
  const number = Number(word);
  if (Number.isInteger(number)) return SWITCH + number - 1;
  const index = request.side.pokemon.findIndex(entry =>
    toID(entry.ident.slice(4)) === toID(word) || toID(entry.details.split(',')[0]) === toID(word));
  return index < 0 ? null : SWITCH + index;
}

function readMove(request, slot, words, mask) {
  const moves = request.active[slot].moves;
  const gimmick = words.some(word => GIMMICKS.has(word)) ? 5 : 0;
  const targets = words.filter(word => /^[+-]?[12]$/.test(word));
  const isNumber = /^[1-4]$/.test(words[0]);
  const name = toID(words.filter(word => !GIMMICKS.has(word) && !/^[+-]?[12]$/.test(word)).join(''));
  const index = moves.length === 1 ? 0 : isNumber ? Number(words[0]) - 1 : moves.findIndex(move => move.id === name);
  if (index < 0) return null;
  const said = isNumber && !/^[+-]/.test(words[0]) ? words.slice(1).find(word => /^[+-]?[12]$/.test(word)) : targets[0];
  const target = said ? TARGETS.indexOf(Number(said)) : NO_TARGET;
  const exact = 10 * index + gimmick + target;
  return mask[SLOTS[slot] + exact] ? exact : 10 * index + gimmick + NO_TARGET; // a needless target is ignored
}

function readSlot(request, slot, text, mask) {
  const [kind, ...words] = text.trim().split(/\s+/);
  if (kind === 'pass') return PASS;
  if (kind === 'switch' && words.length) return readSwitch(request, words.join(' '));
  if (kind === 'move' && words.length && request.active) return readMove(request, slot, words, mask);
  return null;
}

// Whether the picks are legal under the mask and the rules between the places.
function isLegal(mask, [preview, first, second]) {
  return Boolean(mask[preview] && mask[SLOTS[0] + first] && legal.allowsJointly(mask, first, second));
}

// [preview, first, second] of a choice string, or null when it says nothing that the mask allows.
function readChoice(request, text, mask) {
  if (request.teamPreview) {
    const digits = (text.startsWith('team ') ? text.slice(5).match(/\d/g) || [] : []).map(Number).slice(0, 4);
    const lead = digits.slice(0, 2).sort();
    const back = digits.slice(2, 4).sort();
    const index = legal.PREVIEWS.findIndex(order => order.join() === [...lead, ...back].join());
    return index < 0 || !mask[index + 1] ? null : [index + 1, PASS, PASS];
  }
  const parts = text.split(',');
  if (parts.length !== 2) return null;
  const picks = [0, readSlot(request, 0, parts[0], mask), readSlot(request, 1, parts[1], mask)];
  return picks.includes(null) || !isLegal(mask, picks) ? null : picks;
}

module.exports = {readChoice, isLegal};
