// The observation layout, read from layout.json: where each named feature of each block lies, and how ids are numbered.
'use strict';

const layout = require('./layout.json');
const vocab = require('./vocab.json');

const UNKNOWN_ID = 0; // not known to this seat
const NONE_ID = 1; // known to be nothing
const FIRST_ID = 2;

function numbering(ids) {
  return new Map(ids.map((id, i) => [id, i + FIRST_ID]));
}

const numbers = Object.fromEntries(
  Object.entries({...vocab, ...layout.enums}).map(([kind, ids]) => [kind, numbering(ids)]));

// The number of an id; an id outside the vocabulary counts as unknown.
function idOf(kind, id) {
  return id ? numbers[kind].get(id) || UNKNOWN_ID : NONE_ID;
}

const featuresOf = block => block.features || layout.groups[block.group];

// {name: {at, width, count, place: {feature: offset in a row}}} for a list of blocks.
function place(blocks) {
  const placed = {};
  let at = 0;
  for (const block of blocks) {
    const names = featuresOf(block).map(text => text.split(' ')[1]);
    placed[block.name] = {
      at, width: names.length, count: block.count, place: Object.fromEntries(names.map((name, i) => [name, i])),
    };
    at += names.length * block.count;
  }
  return {placed, size: at};
}

const {placed: blocks, size} = place(layout.blocks);
const {size: privilegedSize} = place(process.env.PVP_ML_PRIVILEGED === '0' ? [] : layout.privileged);

module.exports = {blocks, size, privilegedSize, idOf, UNKNOWN_ID, NONE_ID, version: layout.version};
