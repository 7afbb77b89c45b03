// The "heuristics" bot: scores every legal pair of choices by estimated damage, knock-outs, a small table of what
// status moves are worth, and whether a switch or a gimmick pays. One turn deep; no search.
'use strict';

const legal = require('../legal');
const {estimate, factsOf} = require('../observe/damage');
const {bestShare, fieldFor, standing, threatTo} = require('../observe/matchups');

const {PASS, SWITCH} = legal;
const KNOCK_OUT = 0.6; // worth of a knock-out on top of the damage
const SWITCH_COST = 0.45;
const GIMMICK_COST = 0.12;
const FRIENDLY_FIRE = 1.5;
const STALE = 0.01;
const REDIRECTION = new Set(['followme', 'ragepowder']);
const SLEEP = new Set(['spore', 'sleeppowder', 'hypnosis', 'yawn']);
const SCREENS = {reflect: 'reflect', lightscreen: 'lightscreen', auroraveil: 'auroraveil'};

// {foes: [share, share], ally, plain}: what one slot's choice does, before the two slots are put together.
function outcome(view, slot, choice, threats) {
  const mon = view.ownActive[slot];
  if (choice === PASS || !mon) return {foes: [0, 0], ally: 0, plain: 0};
  if (choice >= SWITCH) return {foes: [0, 0], ally: 0, plain: switchValue(view, slot, choice - SWITCH, threats)};
  const active = view.request.active[slot];
  const facts = factsOf(view.tracker.dex, active.moves[Math.floor(choice / 10)].id);
  const gimmick = choice % 10 >= 5;
  if (!facts.power) return statusOutcome(view, slot, choice, facts, threats, gimmick);
  return attackOutcome(view, slot, choice, facts, gimmick);
}

function attackOutcome(view, slot, choice, facts, gimmick) {
  const mon = view.ownActive[slot];
  const dex = view.tracker.dex;
  const field = fieldFor(view, view.foeTeam, view.ownTeam, standing(view.foeActive));
  const becomesTera = gimmick && view.request.active[slot].canTerastallize;
  const tera = mon.terastallized || becomesTera ? mon.tera : '';
  const target = legal.TARGETS[choice % 5];
  const share = other => other ? estimate(dex, facts, mon, other, field, tera).share * facts.accuracy : 0;
  const spread = facts.spread || (target === 0 && facts.move.target !== 'self');
  const foes = [0, 1].map(i => spread ? share(view.foeActive[i]) / (facts.spread ? 1 : standing(view.foeActive) || 1) :
    target === i + 1 ? share(view.foeActive[i]) : 0);
  const ally = target < 0 || facts.hitsAlly ? share(view.ownActive[1 - slot]) : 0;
  let plain = 0;
  if (facts.id === 'fakeout') plain += mon.turns <= 1 ? 0.35 : -1;
  if (facts.id === 'firstimpression' && mon.turns > 1) plain -= 1;
  if (target > 0 && !view.foeActive[target - 1]) plain -= 0.3;
  if (gimmick) plain += becomesTera ? teraValue(view, slot) : 0.1; // a mega evolution never hurts
  if (facts.move.selfdestruct) plain -= mon.hp;
  return {foes, ally, plain};
}

// Turning into another type: better when the known threats shrink, a cost otherwise, so that it is not wasted.
function teraValue(view, slot) {
  const mon = view.ownActive[slot];
  if (!mon.tera || mon.tera === 'stellar') return -GIMMICK_COST;
  const now = threatTo(view, mon);
  const then = threatTo(view, {...mon, types: [mon.tera], terastallized: true});
  return Math.max(-0.3, Math.min(0.3, (now - then) * 0.5)) - GIMMICK_COST;
}

function statusOutcome(view, slot, choice, facts, threats, gimmick) {
  const nothing = {foes: [0, 0], ally: 0};
  if (gimmick) return {...nothing, plain: -1};
  const target = legal.TARGETS[choice % 5];
  if (target > 0 && !view.foeActive[target - 1]) return {...nothing, plain: -0.5};
  return {...nothing, plain: statusValue(view, slot, facts, target, threats)};
}

function statusValue(view, slot, facts, target, threats) {
  const mon = view.ownActive[slot];
  const {id, move} = facts;
  const own = view.ownTeam.conditions;
  const foe = target > 0 ? view.foeActive[target - 1] : legal.isSingles(view.request) ? view.foeActive[0] : null;
  const danger = threats[slot] >= mon.hp;
  if (move.stallingMove) return mon.protects > 0 ? -0.2 : danger ? 0.3 : 0.02;
  if (id === 'tailwind') return own.tailwind ? -0.2 : 0.55;
  if (id === 'trickroom') return trickRoomValue(view);
  if (SCREENS[id]) return own[SCREENS[id]] || (id === 'auroraveil' && !/snow|hail/.test(view.tracker.weather)) ? -0.2 : 0.35;
  if (REDIRECTION.has(id)) return view.ownActive[1 - slot] && !danger ? 0.25 : 0.05;
  if (SLEEP.has(id)) return foe && !foe.status && !foe.types.includes('grass') ? 0.5 * facts.accuracy : -0.2;
  if (target < 0 && move.heal) return view.ownActive[1 - slot] && view.ownActive[1 - slot].hp < 0.6 ? 0.3 : -0.2;
  if (target < 0) return id === 'helpinghand' ? 0.15 : -0.1;
  if (move.heal) return mon.hp < 0.5 && !danger ? 0.4 : -0.1;
  if (foe && move.status) return foe.status ? -0.2 : move.status === 'brn' && foe.stats[1] > foe.stats[3] ? 0.35 : 0.2;
  if (move.selfSwitch) return danger ? 0.3 : 0.1;
  if (id === 'taunt' || id === 'encore') return foe && !foe.volatiles[id] && foe.turns > 0 ? 0.2 : 0;
  if (move.target === 'self' && move.boosts) return danger || mon.boosts.some(stage => stage > 1) ? 0 : 0.3 * mon.hp;
  if (id === 'revivalblessing') return view.own.some(other => other.selected && other.fainted) ? 0.8 : -1;
  if (id === 'wideguard' || id === 'quickguard') return 0.05;
  return 0.05;
}

function trickRoomValue(view) {
  const speed = mons => mons.reduce((sum, mon) => sum + (mon ? mon.stats[5] : 0), 0) / (standing(mons) || 1);
  const slower = speed(view.ownActive) < speed(view.foeActive);
  return slower === !('trickroom' in view.tracker.fields) ? 0.5 : -0.4;
}

function switchValue(view, slot, index, threats) {
  const mon = view.ownActive[slot];
  const other = view.own[index];
  if (!other) return -1;
  const dropped = mon.boosts.reduce((sum, stage) => sum + Math.min(stage, 0), 0);
  const relief = Math.min(threats[slot] / Math.max(mon.hp, 0.05), 2) - Math.min(threatTo(view, other) / Math.max(other.hp, 0.05), 2);
  return relief * 0.3 - dropped * 0.08 - SWITCH_COST + (mon.volatiles.perish === 1 ? 1 : 0);
}

// Damage on the same foe adds up to at most its HP; friendly fire and wasted blows count against.
function pairScore(view, first, second) {
  let score = first.plain + second.plain;
  for (let i = 0; i < 2; i++) {
    const foe = view.foeActive[i];
    if (!foe) continue;
    const dealt = first.foes[i] + second.foes[i];
    score += Math.min(dealt, foe.hp);
    if (Math.max(first.foes[i], second.foes[i]) >= foe.hp) score += KNOCK_OUT;
    else if (dealt >= foe.hp) score += KNOCK_OUT * 0.8;
    else score -= STALE;
  }
  for (const [slot, hit] of [[1, first.ally], [0, second.ally]]) {
    const ally = view.ownActive[slot];
    if (ally && hit > 0) score -= FRIENDLY_FIRE * Math.min(hit, ally.hp) + (hit >= ally.hp ? KNOCK_OUT : 0);
  }
  return score;
}

// Who may come in after a knock-out: the one with the best exchange against the foes that stand.
function replacementValue(view, choice) {
  if (choice < SWITCH || choice === PASS) return 0;
  const mon = view.own[choice - SWITCH];
  if (mon.fainted) return mon.stats[1] + mon.stats[3]; // Revival Blessing
  const field = fieldFor(view, view.foeTeam, view.ownTeam, standing(view.foeActive));
  const dealt = view.foeActive.reduce((sum, foe) =>
    sum + (foe ? Math.min(bestShare(view.tracker.dex, mon, foe, field), foe.hp) : 0), 0);
  return dealt - threatTo(view, mon) / Math.max(mon.hp, 0.05);
}

function heuristicTurn(view, mask, random) {
  const pairs = legal.jointChoices(mask);
  if (view.request.forceSwitch) {
    return best(pairs, ([first, second]) => replacementValue(view, first) + replacementValue(view, second), random);
  }
  const threats = view.ownActive.map(mon => mon ? threatTo(view, mon) : 0);
  const outcomes = [new Map(), new Map()];
  const of = (slot, choice) => {
    let known = outcomes[slot].get(choice);
    if (!known) outcomes[slot].set(choice, known = outcome(view, slot, choice, threats));
    return known;
  };
  return best(pairs, ([first, second]) => pairScore(view, of(0, first), of(1, second)), random);
}

function best(options, score, random) {
  let top = options[0];
  let topScore = -Infinity;
  for (const option of options) {
    const value = score(option) + random() * 1e-3;
    if (value > topScore) {
      topScore = value;
      top = option;
    }
  }
  return top;
}

// Bring the four with the best exchange against the six shown, the best two in front.
function heuristicPreview(view, options, random) {
  const dex = view.tracker.dex;
  const field = {weather: '', terrain: '', screens: {}, faintedAllies: 0, targets: 2};
  const worth = view.own.map(mon => view.foes.reduce((sum, foe) =>
    sum + Math.min(bestShare(dex, mon, foe, field), 1) - Math.min(bestShare(dex, foe, mon, field), 1), 0));
  const leads = (mon, i) => worth[i] + (mon.moves.some(move => ['fakeout', 'tailwind', 'trickroom'].includes(move.id)) ? 0.5 : 0);
  const sum = (places, value) => places.reduce((total, place) => total + value(place - 1), 0);
  return best(options, option => {
    const order = legal.lineup(view.request, option);
    return 1.2 * sum(order.leads, i => leads(view.own[i], i)) + sum(order.waits, i => worth[i]);
  }, random);
}

module.exports = {heuristicTurn, heuristicPreview};
