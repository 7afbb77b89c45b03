// A choice as people say it.
'use strict';

const legal = require('../legal');

const {PASS, SWITCH, TARGETS} = legal;

const nameOf = entry => entry.ident.slice(4);

function targetOf(view, slot, choice) {
  const target = TARGETS[choice % 5];
  if (!target) return '';
  if (target > 0) return ` at ${view.foeActive[target - 1] ? view.foeActive[target - 1].species.name : 'an empty place'}`;
  const place = -target - 1;
  return place === slot ? ' at itself' : ` at its ally ${nameOf(view.request.side.pokemon[place])}`;
}

function slotWords(view, slot, choice) {
  const {request} = view;
  const entry = request.side.pokemon[slot];
  if (choice === PASS) return '';
  if (choice >= SWITCH) {
    const incoming = nameOf(request.side.pokemon[choice - SWITCH]);
    return request.forceSwitch ? `send in ${incoming}` : `${nameOf(entry)}: switch to ${incoming}`;
  }
  const active = request.active[slot];
  const move = active.moves[Math.floor(choice / 10)];
  const name = view.tracker.dex.moves.get(move.id).name || move.id;
  const gimmick = choice % 10 >= 5 ? (active.canTerastallize ? ` and terastallise (${active.canTerastallize})` : ' and mega evolve') : '';
  return `${nameOf(entry)}: ${name}${targetOf(view, slot, choice)}${gimmick}`;
}

// [preview, first, second] in words.
function wordsOf(view, [preview, first, second]) {
  const {request} = view;
  if (request.teamPreview) {
    const {leads, waits} = legal.lineup(request, preview);
    const names = places => places.map(place => nameOf(request.side.pokemon[place - 1])).join(' and ');
    return `lead ${names(leads)}, ${names(waits)} in the back`;
  }
  return [slotWords(view, 0, first), slotWords(view, 1, second)].filter(Boolean).join('; ') || 'pass';
}

module.exports = {wordsOf};
