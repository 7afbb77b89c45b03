// Which choices a request allows, and how a choice is spelled for the simulator.
//
// One row of the mask: 91 previews (0 = "none"), 47 choices of slot 1, 47 of slot 2. A slot's table is
// 10·move + 5·gimmick + target (target 0…4 = −2, −1, none, +1, +2), 40…45 = switch to the n-th entry of the request's
// list, 46 = pass. Joint rules (same switch, second gimmick, pass twice) are the heads' rules on the Python side.
'use strict';

const PREVIEW = 0;
const PREVIEW_SIZE = 91;
const SLOT_SIZE = 47;
const SLOTS = [PREVIEW_SIZE, PREVIEW_SIZE + SLOT_SIZE];
const MASK_SIZE = PREVIEW_SIZE + 2 * SLOT_SIZE;
const SWITCH = 40;
const PASS = 46;
const IDLE = -1;
const TARGETS = [-2, -1, 0, 1, 2];

// The 90 previews: 4-permutations of 1…6 in lexicographic order with an ascending lead pair and an ascending back pair.
const PREVIEWS = (() => {
  const all = [];
  for (let a = 1; a <= 6; a++) for (let b = a + 1; b <= 6; b++) {
    for (let c = 1; c <= 6; c++) for (let d = c + 1; d <= 6; d++) {
      if (c !== a && c !== b && d !== a && d !== b) all.push([a, b, c, d]);
    }
  }
  return all;
})();

// In singles three are brought and one leads. A preview [a, b, c, d] then means: one of a and b leads, c and d wait, and the
// other stays at home with the rest. The leader is the one after whom the other comes next, counting round among those who
// stay at home; of the 90 previews 60 have such a leader, one for every line-up.
const SINGLES = PREVIEWS.map(([a, b, c, d]) => {
  const follows = (lead, other) => {
    for (let step = 1; step < 6; step++) {
      const next = (lead - 1 + step) % 6 + 1;
      if (next !== c && next !== d) return next === other;
    }
    return false;
  };
  return follows(a, b) ? [a, c, d] : follows(b, a) ? [b, c, d] : null;
});

const isSingles = request => Boolean((request.active && request.active.length === 1) ||
  (request.forceSwitch && request.forceSwitch.length === 1) || (request.teamPreview && request.maxChosenTeamSize === 3));

// {leads, waits}: places in the team, counted from 1, of a preview that the request allows.
function lineup(request, preview) {
  const [first, ...rest] = isSingles(request) ? SINGLES[preview - 1] : PREVIEWS[preview - 1];
  return isSingles(request) ? {leads: [first], waits: rest} : {leads: [first, rest[0]], waits: rest.slice(1)};
}

const isFainted = entry => entry.condition.endsWith(' fnt');

// Target offsets that the simulator accepts for a move of this target type used from slot 0 or 1; in singles there is no
// choice.
function targetOffsets(targetType, slot, singles) {
  if (singles) return [2];
  const own = slot === 0 ? 1 : 0; // −1 is the left slot, −2 the right one
  const ally = 1 - own;
  switch (targetType) {
  case 'normal':
  case 'any':
    return [ally, 3, 4];
  case 'adjacentFoe':
    return [3, 4];
  case 'adjacentAlly':
    return [ally];
  case 'adjacentAllyOrSelf':
    return [0, 1];
  default:
    return [2];
  }
}

const gimmickOf = active => active.canTerastallize ? 'terastallize' : active.canMegaEvo ? 'mega' :
  active.canMegaEvoX ? 'megax' : active.canMegaEvoY ? 'megay' : '';

function allowSwitches(request, mask, at, wantFainted) {
  let count = 0;
  request.side.pokemon.forEach((entry, i) => {
    const allowed = wantFainted ? isFainted(entry) : !entry.active && !isFainted(entry);
    if (!allowed) return;
    mask[at + SWITCH + i] = 1;
    count++;
  });
  return count;
}

function maskForced(request, mask) {
  const flags = request.forceSwitch;
  const bench = request.side.pokemon.filter(entry => !entry.active && !isFainted(entry)).length;
  const wanted = flags.filter(Boolean).length;
  for (let slot = 0; slot < 2; slot++) {
    const at = SLOTS[slot];
    if (!flags[slot]) {
      mask[at + PASS] = 1;
    } else if (request.side.pokemon[slot].reviving) {
      if (!allowSwitches(request, mask, at, true)) mask[at + PASS] = 1;
    } else {
      allowSwitches(request, mask, at, false);
      if (bench < wanted) mask[at + PASS] = 1;
    }
  }
}

function maskTurn(request, mask) {
  const singles = isSingles(request);
  for (let slot = 0; slot < 2; slot++) {
    const at = SLOTS[slot];
    const entry = request.side.pokemon[slot];
    const active = request.active[slot];
    if (!active || !entry || isFainted(entry) || entry.commanding) {
      mask[at + PASS] = 1;
      continue;
    }
    const gimmick = gimmickOf(active);
    active.moves.forEach((move, m) => {
      if (move.disabled) return;
      for (const target of targetOffsets(move.target, slot, singles)) {
        mask[at + 10 * m + target] = 1;
        if (gimmick) mask[at + 10 * m + 5 + target] = 1;
      }
    });
    if (!active.trapped) allowSwitches(request, mask, at, false);
  }
}

function maskPreview(request, mask) {
  const size = request.side.pokemon.length;
  const orders = isSingles(request) ? SINGLES : PREVIEWS;
  orders.forEach((order, i) => {
    if (order && Math.max(...order) <= size) mask[PREVIEW + 1 + i] = 1;
  });
  mask[SLOTS[0] + PASS] = 1;
  mask[SLOTS[1] + PASS] = 1;
}

// Fills `mask` (zeroed here) from a request; nothing to decide gives none, pass, pass.
function writeMask(request, mask) {
  mask.fill(0);
  if (request && request.teamPreview) return maskPreview(request, mask);
  mask[PREVIEW] = 1;
  if (request && request.forceSwitch) return maskForced(request, mask);
  if (request && request.active) return maskTurn(request, mask);
  mask[SLOTS[0] + PASS] = 1;
  mask[SLOTS[1] + PASS] = 1;
}

function spellSlot(request, slot, choice) {
  if (choice === PASS) return 'pass';
  if (choice >= SWITCH) return `switch ${choice - SWITCH + 1}`;
  const target = TARGETS[choice % 5];
  const gimmick = choice % 10 >= 5 ? ` ${gimmickOf(request.active[slot])}` : '';
  return `move ${Math.floor(choice / 10) + 1}${target ? ` ${target > 0 ? '+' : ''}${target}` : ''}${gimmick}`;
}

// The choice string of one seat's three picks; IDLE lets the simulator choose.
function spell(request, preview, first, second) {
  if (preview === IDLE || first === IDLE || second === IDLE) return 'default';
  if (request.teamPreview) {
    const {leads, waits} = lineup(request, preview);
    return `team ${[...leads, ...waits].join('')}`;
  }
  if (isSingles(request)) return spellSlot(request, 0, first);
  return `${spellSlot(request, 0, first)}, ${spellSlot(request, 1, second)}`;
}

const usesGimmick = choice => choice < SWITCH && choice % 10 >= 5;

// Whether slot 2 may take `second` after slot 1 took `first`, as the heads' rules say.
function allowsJointly(mask, first, second) {
  if (!mask[SLOTS[1] + second] || (second === first && second >= SWITCH && second < PASS) ||
    (usesGimmick(first) && usesGimmick(second))) return false;
  if (second === PASS && first === PASS) return onlyPassIsLeft(mask, first);
  return true;
}

// Pass after pass is the fallback: legal when the rules leave slot 2 nothing else.
function onlyPassIsLeft(mask, first) {
  for (let choice = 0; choice < PASS; choice++) {
    if (mask[SLOTS[1] + choice] && !(choice === first && choice >= SWITCH)) return false;
  }
  return true;
}

// All legal (first, second) pairs of a turn or forced-switch mask.
function jointChoices(mask) {
  const pairs = [];
  for (let first = 0; first < SLOT_SIZE; first++) {
    if (!mask[SLOTS[0] + first]) continue;
    for (let second = 0; second < SLOT_SIZE; second++) {
      if (allowsJointly(mask, first, second)) pairs.push([first, second]);
    }
  }
  return pairs;
}

module.exports = {
  PREVIEWS, PREVIEW_SIZE, SLOTS, SLOT_SIZE, MASK_SIZE, SWITCH, PASS, IDLE, TARGETS,
  writeMask, spell, lineup, isSingles, jointChoices, allowsJointly, isFainted, gimmickOf,
};
