// One seat's view of a battle: its own request plus what everybody has seen. Bots and observations read this.
'use strict';

const {toID} = require('../simulator');
const {typesOf} = require('../observe/damage');
const {isFainted} = require('../legal');

const BASE_STATS = ['hp', 'atk', 'def', 'spa', 'spd', 'spe'];
const TYPICAL_EFFORT = 21; // stat points that a foe is assumed to have in each stat: a third of the budget, spread evenly
const NO_BOOSTS = new Int8Array(7);
const NO_VOLATILES = Object.freeze(Object.create(null));

function currentTypes(species, slot, tera) {
  if (tera && tera !== 'stellar') return [tera];
  const types = slot && slot.types ? slot.types : typesOf(species);
  return slot && slot.addedType && !types.includes(slot.addedType) ? [...types, slot.addedType] : types;
}

// What does not change during a battle is worked out once.
class Memory {
  constructor() {
    this.entries = new WeakMap(); // Dex, species or list of entries → Map of what was asked → answer
  }

  of(owner, key, work) {
    let known = this.entries.get(owner);
    if (known === undefined) this.entries.set(owner, known = new Map());
    let answer = known.get(key);
    if (answer === undefined) known.set(key, answer = work(owner, key));
    return answer;
  }
}

const typicalStats = new Memory();
const fullPoints = new Memory();
const readDetails = new Memory();
const firstEntries = new Memory();

const estimateStats = (species, level) => typicalStats.of(species, level, workOutStats);

function workOutStats(species, level) {
  return Object.freeze(BASE_STATS.map((stat, i) => {
    const points = Math.floor((2 * species.baseStats[stat] + 31 + TYPICAL_EFFORT) * level / 100);
    return i === 0 ? points + level + 10 : points + 5;
  }));
}

const maxPP = (dex, id) => fullPoints.of(dex, id, workOutPP);

function workOutPP(dex, id) {
  const move = dex.moves.get(id);
  if (move.noPPBoosts) return move.pp || 1;
  return dex.currentMod.startsWith('champions') ? (move.pp / 5 + 1) * 4 : move.pp * 8 / 5 || 1;
}

// {species, level} of an entry's details, such as "Urshifu-Rapid-Strike, L50, M".
function parseDetails(dex, details) {
  const [name, ...rest] = details.split(', ');
  const level = Number((rest.find(part => /^L\d+$/.test(part)) || 'L100').slice(1));
  return {species: dex.species.get(name), level};
}

const remaining = (dex, mon, id) => Math.max(0, 1 - (mon ? mon.used.get(id) || 0 : 0) / maxPP(dex, id));

// A transformed Pokémon has at most five points of each move.
const copiedPP = (dex, slot, id) => {
  const all = Math.min(5, dex.moves.get(id).pp || 1);
  return Math.max(0, 1 - (slot.copiedUsed.get(id) || 0) / all);
};

// The parts of a view that hold for own and foreign Pokémon alike.
function onField(view, slot, index) {
  const here = slot && !view.fainted;
  view.slot = index;
  view.boosts = here ? slot.boosts : NO_BOOSTS;
  view.volatiles = here ? slot.volatiles : NO_VOLATILES;
  view.turns = here ? slot.turns : 0;
  view.protects = here ? slot.protects : 0;
  view.lastMove = here ? slot.lastMove : '';
  view.transformed = Boolean(here && slot.copied);
  if (here && slot.species) view.species = slot.species;
  view.types = currentTypes(view.species, here ? slot : null, view.terastallized ? view.tera : '');
  return view;
}

function ownView(tracker, team, entry, index, selected, active, maxhp) {
  const {species, level} = readDetails.of(tracker.dex, entry.details, parseDetails);
  const mon = team.mons.find(known => known.species.baseSpecies === species.baseSpecies) || null;
  const fainted = isFainted(entry);
  const [hp, status] = entry.condition.split(' ');
  const [now, max] = hp.split('/').map(Number);
  const slot = entry.active && selected ? team.slots[index] : null;
  const left = id => slot && slot.copied ? copiedPP(tracker.dex, slot, id) : remaining(tracker.dex, mon, id);
  const isHelpless = Boolean(active && active.moves.length === 1 && active.moves[0].id === 'struggle'); // none can be chosen
  const moves = entry.moves.map(id => ({id, pp: left(id), disabled: isHelpless}));
  if (active && active.moves.length === moves.length) {
    active.moves.forEach((move, i) => {
      moves[i] = {id: move.id, pp: move.maxpp ? move.pp / move.maxpp : moves[i].pp, disabled: Boolean(move.disabled)};
    });
  }
  const stats = entry.stats;
  const tera = toID(entry.teraType || '');
  return onField({
    species, level, fainted, moves, hp: fainted ? 0 : now / max, status: fainted ? '' : status || '',
    statusTurns: mon ? mon.statusTurns : 0, ability: entry.ability || entry.baseAbility, abilityKnown: true,
    item: entry.item, itemKnown: true, tera, teraKnown: Boolean(tera), terastallized: Boolean(entry.terastallized),
    mega: Boolean(species.isMega), stats: [fainted ? maxhp : max, stats.atk, stats.def, stats.spa, stats.spd, stats.spe], exact: true,
    shown: Boolean(mon && mon.shown), selected,
  }, slot, slot ? index : -1);
}

function foeView(tracker, mon, slot, index) {
  const species = (slot && slot.species) || mon.species;
  const copied = slot && slot.copied;
  const moves = copied ? copied.moves.map(id => ({id, pp: copiedPP(tracker.dex, slot, id), disabled: false})) :
    mon.moves.map(id => ({id, pp: remaining(tracker.dex, mon, id), disabled: false}));
  const borrowed = slot && (slot.ability || slot.abilityHidden);
  return onField({
    species, level: mon.level, fainted: mon.fainted, hp: mon.hp, status: mon.status, statusTurns: mon.statusTurns,
    moves, ability: borrowed ? slot.ability : mon.ability, abilityKnown: borrowed ? !slot.abilityHidden : mon.abilityKnown,
    item: mon.item, itemKnown: mon.itemKnown,
    tera: mon.tera, teraKnown: mon.teraKnown, terastallized: mon.terastallized, mega: mon.mega,
    stats: estimateStats(species, mon.level), exact: false, shown: mon.shown, selected: mon.shown,
  }, slot, index);
}

// HP of a Pokémon when it is whole, and its species, as its owner was told at team preview; null of one that was not there.
function firstLook(home, ident) {
  const entry = home.find(other => other.ident === ident);
  return entry ? {details: entry.details, full: Number(entry.condition.split(' ')[0].split('/')[1]) || 0} : null;
}

// The request says "0 fnt" of a fainted Pokémon; team preview said how much it has when it is whole, in its first forme.
function fullHp(dex, home, entry) {
  const first = firstEntries.of(home, entry.ident, firstLook);
  if (!first) return Number(entry.condition.split(' ')[0].split('/')[1]) || 0;
  if (first.details === entry.details) return first.full;
  const now = readDetails.of(dex, entry.details, parseDetails);
  const then = readDetails.of(dex, first.details, parseDetails);
  return first.full + Math.floor(2 * (now.species.baseStats.hp - then.species.baseStats.hp) * now.level / 100);
}

// Own Pokémon in the order of the request's list (row n is "switch n+1"); those left at home follow.
function ownTeam(tracker, seat, request, home) {
  const team = tracker.teams[seat];
  const listed = request.side.pokemon;
  const atPreview = Boolean(request.teamPreview);
  const rows = listed.map((entry, i) =>
    ownView(tracker, team, entry, i, !atPreview, request.active ? request.active[i] : null, fullHp(tracker.dex, home, entry)));
  for (const entry of home) {
    if (rows.length < 6 && !listed.some(other => other.ident === entry.ident)) {
      rows.push(ownView(tracker, team, entry, -1, false, null, fullHp(tracker.dex, home, entry)));
    }
  }
  return rows;
}

// Foes: the two on the field first, the others in the order of team preview.
function foeTeam(tracker, seat) {
  const team = tracker.teams[seat];
  const rows = [];
  team.slots.forEach((slot, i) => {
    if (slot.mon) rows.push(foeView(tracker, slot.mon, slot, i));
  });
  for (const mon of team.mons) {
    if (!team.slots.some(slot => slot.mon === mon)) rows.push(foeView(tracker, mon, null, -1));
  }
  return rows.slice(0, 6);
}

// `home` holds the seat's six entries at team preview, so that the two left at home stay visible to their owner.
function perspective(tracker, seat, request, home) {
  const own = ownTeam(tracker, seat, request, home);
  const foes = foeTeam(tracker, 1 - seat);
  const standing = rows => [0, 1].map(slot => rows.find(row => row.slot === slot && !row.fainted) || null);
  return {
    tracker, seat, request, own, foes,
    ownActive: standing(own), foeActive: standing(foes),
    ownTeam: tracker.teams[seat], foeTeam: tracker.teams[1 - seat],
  };
}

module.exports = {perspective, estimateStats};
