// A battle made of what one seat knows and of guesses about the rest: the search plays on from it.
//
// Reads the tracker, the seat's own request and guessed sets; there is no true battle anywhere near.
'use strict';

const {Battle} = require('../simulator');
const {STATS} = require('../seen/knowledge');
const {isFainted} = require('../legal');
const {addEffect, addEffects, addSideConditions, addField, itemsIn} = require('./effects');
const {spreadOf} = require('./spreads');

const SLEEPS = {slp: [2, 3, 4], champions: [2, 3, 3]};

// A position that cannot be rebuilt well enough to be searched; `message` says why.
class Declined extends Error {}

function readDetails(details) {
  const [species, ...rest] = details.split(', ');
  return {
    species, level: Number((rest.find(part => /^L\d+$/.test(part)) || 'L100').slice(1)),
    gender: rest.find(part => part === 'M' || part === 'F') || 'N',
  };
}

const fullHp = entry => Number(entry.condition.split(' ')[0].split('/')[1]) || 0;

// One of our own, as the request shows it.
function ownSet(battle, entry, home) {
  const {species: name, level, gender} = readDetails(entry.details);
  const species = battle.dex.species.get(name);
  const whole = isFainted(entry) ? home.find(other => other.ident === entry.ident) || entry : entry;
  return {
    name: entry.ident.slice(4), species: species.name, gender, level, moves: entry.moves, item: entry.item,
    ability: entry.baseAbility || entry.ability, teraType: battle.dex.types.get(entry.teraType || species.types[0]).name,
    ...spreadOf(battle, species, level, entry.stats, fullHp(whole)),
  };
}

function newBattle({format, seat, request, home, sets, seed}) {
  const battle = new Battle({formatid: format, seed, send: () => {}});
  const own = request.side.pokemon.map(entry => ownSet(battle, entry, home));
  [0, 1].forEach(n => battle.setPlayer(`p${n + 1}`, {name: `Seat ${n + 1}`, team: structuredClone(n === seat ? own : sets)}));
  return battle;
}

function setStatus(battle, pokemon, status, turns, random) {
  pokemon.status = status;
  pokemon.statusState = battle.initEffectState({id: status, target: pokemon});
  if (status === 'tox') pokemon.statusState.stage = Math.max(0, turns);
  if (status === 'slp') {
    const times = SLEEPS[battle.dex.currentMod.startsWith('champions') ? 'champions' : 'slp'].filter(time => time > turns);
    const startTime = times.length ? times[Math.floor(random() * times.length)] : turns + 1;
    Object.assign(pokemon.statusState, {startTime, time: startTime - turns});
  }
}

function knockOut(pokemon) {
  Object.assign(pokemon, {hp: 0, fainted: true, status: 'fnt', isActive: false, isStarted: false});
}

// Points of each move that are left, from what was seen to be spent, or from the request where it says so.
function setPoints(pokemon, used, shown) {
  for (const slot of pokemon.baseMoveSlots) {
    const listed = shown && shown.find(move => move.id === slot.id);
    slot.pp = listed && listed.pp !== undefined ? listed.pp : Math.max(0, slot.maxpp - ((used && used.get(slot.id)) || 0));
  }
}

function setAbility(battle, pokemon, ability) {
  if (ability) pokemon.ability = ability;
  pokemon.abilityState = battle.initEffectState({id: pokemon.ability, target: pokemon});
  if (pokemon.ability === 'supremeoverlord') pokemon.abilityState.fallen = Math.min(pokemon.side.totalFainted, 5);
}

// What holds for a Pokémon wherever it is. `facts`: {hp, status, statusTurns, terastallized, used, moves}.
function setPokemon(battle, pokemon, facts, random) {
  setPoints(pokemon, facts.used, facts.moves);
  if (facts.fainted) return knockOut(pokemon);
  pokemon.hp = Math.max(1, Math.min(pokemon.maxhp, facts.hp));
  if (facts.status) setStatus(battle, pokemon, facts.status, facts.statusTurns, random);
  if (facts.terastallized) Object.assign(pokemon, {terastallized: pokemon.teraType, apparentType: pokemon.teraType});
  pokemon.previouslySwitchedIn = facts.shown ? 1 : 0;
}

// What holds for a Pokémon on the field; `slot` is what was seen of its place.
function setActive(battle, pokemon, slot, ability, random) {
  if (slot.copied) throw new Declined('a Pokémon is transformed');
  if (slot.species && slot.species !== pokemon.species) pokemon.setSpecies(slot.species);
  Object.assign(pokemon, {isActive: true, isStarted: true, newlySwitched: false});
  STATS.forEach((stat, i) => { pokemon.boosts[stat] = slot.boosts[i]; });
  if (slot.types) pokemon.types = slot.types.map(id => battle.dex.types.get(id).name);
  if (slot.addedType) pokemon.addedType = battle.dex.types.get(slot.addedType).name;
  pokemon.apparentType = pokemon.getTypes(true).join('/');
  setAbility(battle, pokemon, ability);
  pokemon.itemState = battle.initEffectState({id: pokemon.item, target: pokemon});
  pokemon.activeTurns = Math.max(0, slot.turns - 1);
  pokemon.activeMoveActions = Math.max(0, slot.turns - 1);
  if (slot.lastMove) {
    pokemon.lastMove = pokemon.lastMoveUsed = battle.dex.getActiveMove(slot.lastMove);
    pokemon.moveThisTurn = slot.lastMove;
  }
}

// Our own side: the request says how it stands.
function setOwnSide(battle, side, {tracker, seat, request}, random) {
  const team = tracker.teams[seat];
  request.side.pokemon.forEach((entry, i) => {
    const pokemon = side.pokemon[i];
    const seen = team.mons.find(mon => mon.species.baseSpecies === pokemon.species.baseSpecies);
    const [now, status] = entry.condition.split(' ');
    setPokemon(battle, pokemon, {
      fainted: isFainted(entry), hp: Number(now.split('/')[0]), status: status || '', statusTurns: seen ? seen.statusTurns : 0,
      terastallized: entry.terastallized, used: seen && seen.used, shown: seen && seen.shown,
      moves: request.active && request.active[i] && request.active[i].moves,
    }, random);
  });
  arrange(battle, side, side.pokemon, team, i => request.side.pokemon[i].ability, random);
}

// Their side: what was seen of those that were brought; HP is known to a hundredth.
function setFoeSide(battle, side, {tracker, seat, brought}, random) {
  const team = tracker.teams[1 - seat];
  side.pokemon.forEach((pokemon, i) => {
    const mon = team.mons[i];
    const share = mon.hp < 1 ? mon.hp - 0.005 : 1;
    setPokemon(battle, pokemon, {...mon, hp: Math.round(share * pokemon.maxhp), moves: null}, random);
    if (mon.itemKnown && !mon.item) pokemon.lastItem = mon.lost;
  });
  arrange(battle, side, brought.map(i => side.pokemon[i]), team, i => team.slots[i].ability, random);
}

// Puts those that were brought into their order, the first ones on the field.
function arrange(battle, side, brought, team, abilityOf, random) {
  side.pokemon = brought;
  brought.forEach((pokemon, i) => { pokemon.position = i; });
  side.pokemonLeft = brought.filter(pokemon => !pokemon.fainted).length;
  side.totalFainted = brought.length - side.pokemonLeft;
  if (!side.pokemonLeft) throw new Declined('one side has nobody left');
  side.active.forEach((_, i) => {
    const pokemon = side.active[i] = brought[i];
    if (!pokemon) throw new Declined('a place on the field was never seen');
    if (!pokemon.fainted) setActive(battle, pokemon, team.slots[i], abilityOf(i), random);
  });
  if (!team.gimmickUsed) return;
  for (const pokemon of brought) {
    Object.assign(pokemon, {canTerastallize: null, canMegaEvo: false, canMegaEvoX: false, canMegaEvoY: false});
  }
}

// What the request says that we may not do, whatever the reasons are.
function restrict(battle, side, request) {
  side.active.forEach((pokemon, i) => {
    const shown = request.active[i];
    if (!shown || pokemon.fainted) return;
    pokemon.trapped = Boolean(shown.trapped);
    pokemon.maybeTrapped = Boolean(shown.maybeTrapped);
    const isLocked = shown.moves.length === 1 && pokemon.moveSlots.length > 1;
    if (!isLocked) delete pokemon.volatiles.lockedmove;
    if (isLocked && pokemon.moves.includes(shown.moves[0].id) && !pokemon.volatiles.twoturnmove) {
      addEffect(battle, pokemon, 'lockedmove', {move: shown.moves[0].id, duration: 2, trueDuration: 2});
    }
    for (const slot of pokemon.moveSlots) {
      const listed = shown.moves.find(move => move.id === slot.id);
      slot.disabled = isLocked ? slot.disabled : Boolean(listed && listed.disabled);
    }
  });
}

// Who must be replaced: ours as the request says; theirs when they have fallen and somebody waits.
function askForSwitches(battle, position) {
  const {seat, request} = position;
  const [own, foe] = [battle.sides[seat], battle.sides[1 - seat]];
  if (request.side.pokemon.some(entry => entry.reviving)) throw new Declined('somebody is revived');
  own.active.forEach((pokemon, i) => { pokemon.switchFlag = Boolean(request.forceSwitch[i]); });
  const isPivot = own.active.some(pokemon => pokemon.switchFlag && !pokemon.fainted);
  const waiting = foe.pokemon.slice(foe.active.length).some(pokemon => !pokemon.fainted);
  if (waiting && !isPivot) for (const pokemon of foe.active) pokemon.switchFlag = pokemon.fainted;
  if (isPivot) battle.queue.addChoice({choice: 'residual'});
  battle.turn = position.tracker.turn;
  battle.midTurn = true;
  battle.makeRequest('switch');
}

function askForMoves(battle, position) {
  battle.turn = position.tracker.turn - 1;
  battle.midTurn = false;
  battle.endTurn(); // who is trapped, what is disabled, and the requests
  restrict(battle, battle.sides[position.seat], position.request);
  battle.makeRequest('move');
}

// position: {format, tracker, seat, request, home, sets, brought, seed}; `random` draws what nobody can know. `meet` gets
// the foe's six as team preview shows them to the foe.
function rebuild(position, random, meet = () => {}) {
  const {tracker, seat, request} = position;
  const battle = newBattle(position);
  meet(battle.sides[1 - seat].getRequestData().pokemon);
  if (request.teamPreview) return ready(battle);
  if (position.brought.includes(-1)) throw new Declined('a place on the field was never seen');
  battle.requestState = '';
  battle.queue.clear();
  setOwnSide(battle, battle.sides[seat], position, random);
  setFoeSide(battle, battle.sides[1 - seat], position, random);
  const items = itemsIn(battle);
  addField(battle, tracker, items);
  battle.sides.forEach((side, n) => {
    addSideConditions(battle, side, tracker.teams[n], tracker.upkeeps, items);
    side.active.forEach((pokemon, i) => {
      if (!pokemon.fainted) addEffects(battle, pokemon, tracker.teams[n].slots[i], random);
    });
  });
  if (request.forceSwitch) askForSwitches(battle, position);
  else askForMoves(battle, position);
  return ready(battle);
}

function ready(battle) {
  battle.log.length = 0;
  battle.inputLog.length = 0;
  battle.sentLogPos = 0;
  battle.lastMoveLine = -1;
  return battle;
}

module.exports = {rebuild, Declined};
