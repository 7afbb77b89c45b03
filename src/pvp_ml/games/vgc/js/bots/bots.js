// Scripted opponents. Each sees one seat's perspective, its request and its mask, and returns three picks.
'use strict';

const legal = require('../legal');
const {factsOf} = require('../observe/damage');
const {heuristicTurn, heuristicPreview} = require('./heuristics');

const {PASS, SWITCH, SLOTS} = legal;

const pick = (options, random) => options[Math.floor(random() * options.length)];

function previews(mask) {
  const options = [];
  for (let i = 1; i < legal.PREVIEW_SIZE; i++) if (mask[i]) options.push(i);
  return options;
}

// Uniform over the legal joint choices.
function randomLegal(view, mask, random) {
  if (view.request.teamPreview) return [pick(previews(mask), random), PASS, PASS];
  return [0, ...pick(legal.jointChoices(mask), random)];
}

// The strongest move on paper of one slot: base power times hits, at a random standing foe; never its own ally.
function strongest(view, mask, slot, random) {
  const active = view.request.active[slot];
  let best = null;
  let bestPower = 0;
  for (let choice = 0; choice < SWITCH; choice++) {
    if (!mask[SLOTS[slot] + choice] || choice % 10 >= 5) continue;
    const target = legal.TARGETS[choice % 5];
    if (target < 0 || (target > 0 && !view.foeActive[target - 1])) continue;
    const facts = factsOf(view.tracker.dex, active.moves[Math.floor(choice / 10)].id);
    const power = facts.power * facts.hits;
    if (power > bestPower || (power === bestPower && best !== null && random() < 0.5)) {
      bestPower = power;
      best = choice;
    }
  }
  return best;
}

function maxPower(view, mask, random) {
  const request = view.request;
  if (!request.active) return randomLegal(view, mask, random);
  const picks = [0, 1].map(slot => mask[SLOTS[slot] + PASS] ? PASS : strongest(view, mask, slot, random));
  const pairs = legal.jointChoices(mask).filter(([first, second]) =>
    (picks[0] === null || first === picks[0]) && (picks[1] === null || second === picks[1]));
  return pairs.length ? [0, ...pick(pairs, random)] : randomLegal(view, mask, random);
}

function heuristics(view, mask, random) {
  if (view.request.teamPreview) return [heuristicPreview(view, previews(mask), random), PASS, PASS];
  return [0, ...heuristicTurn(view, mask, random)];
}

const BOTS = {random: randomLegal, 'max-power': maxPower, heuristics};

module.exports = {BOTS};
