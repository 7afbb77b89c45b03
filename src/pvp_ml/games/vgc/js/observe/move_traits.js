// What a move does besides damage, as flags: a move that a model has hardly seen is then no stranger to it.
'use strict';

const GUARDS = new Set(['wideguard', 'quickguard']);
const DRAWS = new Set(['followme', 'ragepowder', 'helpinghand']);
const ONLY_FIRST = new Set(['fakeout', 'firstimpression', 'matblock']);
const AT_ALLIES = new Set(['adjacentAlly', 'adjacentAllyOrSelf', 'allies', 'allyTeam']);
const AT_SELF = new Set(['self', ...AT_ALLIES]);

// Names of the flags, as in the group "attack" of layout.json.
const NAMES = [
  'guards', 'heals', 'raises', 'lowers', 'inflicts', 'pivots', 'flinches', 'sets_field', 'helps_ally', 'only_first_turn', 'drawback',
];

const some = (boosts, sign) => Object.values(boosts || {}).some(stage => stage * sign > 0);

function examine(move) {
  const secondaries = move.secondaries || [];
  const own = (move.self && move.self.boosts) || (move.selfBoost && move.selfBoost.boosts);
  const atSelf = AT_SELF.has(move.target);
  const flags = {
    guards: move.stallingMove || GUARDS.has(move.id),
    heals: move.heal || move.drain || (move.flags.heal && move.category === 'Status'),
    raises: (atSelf && some(move.boosts, 1)) || some(own, 1) || secondaries.some(s => s.self && some(s.self.boosts, 1)),
    lowers: (!atSelf && some(move.boosts, -1)) || secondaries.some(s => some(s.boosts, -1)),
    inflicts: move.status || (move.volatileStatus && !atSelf) || secondaries.some(s => s.status || s.volatileStatus === 'confusion'),
    pivots: move.selfSwitch,
    flinches: secondaries.some(s => s.volatileStatus === 'flinch'),
    sets_field: (move.sideCondition && !GUARDS.has(move.id)) || move.weather || move.terrain || move.pseudoWeather,
    helps_ally: AT_ALLIES.has(move.target) || DRAWS.has(move.id),
    only_first_turn: ONLY_FIRST.has(move.id),
    drawback: move.recoil || move.selfdestruct || move.mindBlownRecoil || move.flags.recharge || move.flags.charge || some(own, -1),
  };
  return NAMES.map(name => flags[name] ? 1 : 0);
}

const known = new WeakMap(); // move of a Dex → its flags

function traitsOf(move) {
  let traits = known.get(move);
  if (!traits) known.set(move, traits = examine(move));
  return traits;
}

module.exports = {NAMES, traitsOf};
