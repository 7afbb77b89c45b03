// Whose ability or item a log line gives away, and how abilities and items change hands.
'use strict';

const {toID} = require('../simulator');
const {effectId} = require('./knowledge');

// Announced by the names of its two halves.
const DOUBLE_ABILITIES = {
  calyrexice: {name: 'asoneglastrier', parts: ['unnerve', 'chillingneigh']},
  calyrexshadow: {name: 'asonespectrier', parts: ['unnerve', 'grimneigh']},
};
const KEEPS_ABILITY = /^(mimikyu|eiscue)/; // formes that end with a hit and change nothing else
const QUIET = new Set(['-ability', '-transform', '-enditem']); // lines whose own handler says whose ability it was

const taggedWith = (parts, tag) => {
  const found = parts.find(part => part.startsWith(tag));
  return found === undefined ? '' : found.slice(tag.length);
};
const holderOf = parts => taggedWith(parts, '[of] ');

// The ability that the Pokémon in a place has now; '' when nobody knows.
function currentAbility(slot) {
  if (slot.abilityHidden) return '';
  return slot.ability || (slot.mon.abilityKnown ? slot.mon.ability : '');
}

// A second ability of the same Pokémon is borrowed and lasts until it leaves the field.
function learnAbility(tracker, ident, id) {
  const mon = tracker.mon(ident);
  const slot = tracker.slot(ident);
  if (!mon || !id) return;
  const double = DOUBLE_ABILITIES[((slot && slot.species) || mon.species).id];
  if (double && (id === 'asone' || double.parts.includes(id))) id = double.name;
  if (slot && (slot.copied || slot.abilityHidden || (mon.abilityKnown && mon.ability !== id))) borrowAbility(slot, id);
  else Object.assign(mon, {ability: id, abilityKnown: true});
}

// '' stands for an ability that was taken over unseen.
function borrowAbility(slot, id) {
  slot.ability = id;
  slot.abilityHidden = !id;
}

// "-ability|A|new|old|[from] effect|[of] B": A had `old`, and B has `new` unless A gave its own away.
function changeAbility(tracker, parts) {
  const [, , ident, now, old] = parts;
  const slot = tracker.slot(ident);
  const changed = old && old[0] !== '[' && old !== 'boost' && slot && slot.mon;
  if (!changed) return learnAbility(tracker, ident, toID(now));
  learnAbility(tracker, ident, toID(old));
  const other = holderOf(parts);
  if (other && other !== ident) learnAbility(tracker, other, toID(now));
  borrowAbility(slot, toID(now));
}

// Between allies nothing is named; between foes the line names both abilities.
function swapAbilities(tracker, ident, parts) {
  const first = tracker.slot(ident);
  const second = tracker.slot(holderOf(parts));
  if (!first || !second || !first.mon || !second.mon) return;
  const named = parts[4] && parts[4][0] !== '[';
  if (named) {
    learnAbility(tracker, ident, toID(parts[5]));
    learnAbility(tracker, holderOf(parts), toID(parts[4]));
  }
  const [mine, theirs] = [currentAbility(first), currentAbility(second)];
  borrowAbility(first, theirs);
  borrowAbility(second, mine);
}

// A new forme has its own ability for good; the simulator says so only by the forme.
function changeForme(tracker, ident, species) {
  const mon = tracker.mon(ident);
  const slot = tracker.slot(ident);
  const regressed = mon.fainted;
  mon.species = species;
  if (slot) Object.assign(slot, {species: null, types: null});
  if (regressed) {
    if (mon.born) Object.assign(mon, mon.born);
    mon.born = null;
  } else if (!KEEPS_ABILITY.test(species.id)) {
    mon.born = mon.born || {ability: mon.ability, abilityKnown: mon.abilityKnown};
    Object.assign(mon, {ability: toID(species.abilities['0']), abilityKnown: true});
    if (slot) borrowAbility(slot, mon.ability);
  }
}

// A species that can have one ability only has that one.
function inferAbility(mon) {
  if (mon.abilityKnown) return;
  const possible = new Set(Object.values(mon.species.abilities).map(toID));
  if (possible.size === 1) Object.assign(mon, {ability: [...possible][0], abilityKnown: true});
}

function learnItem(mon, id) {
  if (mon) Object.assign(mon, {item: id, itemKnown: true, lost: ''});
}

function loseItem(tracker, mon, id) {
  tracker.lost = {id, at: tracker.actions};
  if (mon) Object.assign(mon, {item: '', itemKnown: true, lost: id, lostAt: tracker.actions});
}

// What an item does is often shown after its loss, and of a stolen berry under the thief's name: no sign of a second one.
function noticeItem(tracker, mon, id) {
  const {lost} = tracker;
  if (!mon || (lost.id === id && lost.at === tracker.actions) || (mon.lost === id && mon.item === '')) return;
  learnItem(mon, id);
}

// "-item|A|x|…|[of] B": A shows x; B lost it, unless B only looked (Frisk).
function gainItem(tracker, parts, ident) {
  const id = toID(parts[3]);
  const other = holderOf(parts);
  const looked = parts.includes('[from] ability: Frisk');
  if (other && other !== ident && !looked) loseItem(tracker, tracker.mon(other), id);
  const mon = tracker.mon(ident);
  // A White Herb that is stolen works at once, and its loss is shown before its gain.
  if (mon && !(mon.lost === id && mon.lostAt === tracker.actions && other)) learnItem(mon, id);
}

// "[from] ability: X|[of] p1a: Y" and the like tell whose ability or item acted.
function reveal(tracker, parts) {
  const from = taggedWith(parts, '[from] ');
  const isAbility = from.startsWith('ability: ');
  const tag = parts[1];
  if ((!isAbility && !from.startsWith('item: ')) || QUIET.has(tag)) return;
  const self = /^p[12][ab]?: /.test(parts[2] || '') ? parts[2] : '';
  const id = effectId(from);
  // An absorbing ability heals its holder although the line credits the attacker, a Shell Bell although it credits who was
  // struck; a thief's line names the victim.
  const actor = (tag === '-heal' && id !== 'hospitality') || (isAbility && tag === '-item' && id !== 'frisk');
  const owner = actor ? self : holderOf(parts) || self;
  if (!owner || !tracker.side(owner)) return;
  if (isAbility) learnAbility(tracker, owner, id);
  else if (tag !== '-item') noticeItem(tracker, tracker.mon(owner), id);
}

module.exports = {
  taggedWith, holderOf, currentAbility, learnAbility, borrowAbility, changeAbility, swapAbilities, changeForme, inferAbility,
  learnItem, loseItem, noticeItem, gainItem, reveal,
};
