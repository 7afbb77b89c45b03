// A battle as a page draws it: through the eyes of one seat, or (seat null) of somebody who may see both hands.
//
// A seat's picture is its perspective and nothing else, so it cannot hold what the seat has not been shown: which four
// a foe brought, its items, moves and abilities on closed sheets.
'use strict';

const {STATS} = require('./seen/knowledge');
const legal = require('./legal');

// Turns that an effect lasts, and the item that makes it last eight.
const WEATHER = {raindance: 'damprock', sunnyday: 'heatrock', sandstorm: 'smoothrock', snowscape: 'icyrock', snow: 'icyrock', hail: 'icyrock'};
const SCREENS = new Set(['reflect', 'lightscreen', 'auroraveil']);
const TURNS = {tailwind: 4, safeguard: 5, mist: 5, luckychant: 5, trickroom: 5, gravity: 5, wonderroom: 5, magicroom: 5};
const SHORT = 5;
const LONG = 8;
const WEATHER_NAMES = {
  raindance: 'Rain', sunnyday: 'Sun', sandstorm: 'Sandstorm', snowscape: 'Snow', snow: 'Snow', hail: 'Hail',
  desolateland: 'Harsh sun', primordialsea: 'Heavy rain', deltastream: 'Strong winds',
};
const QUIET = new Set(['protosynthesis', 'quarkdrive', 'typechange', 'typeadd']); // shown otherwise, or no news

class Picture {
  constructor(match, seat) {
    this.match = match;
    this.seat = seat;
    this.dex = match.battle.dex;
    this.moves = {};
    const eyes = [0, 1].map(one => match.perspective(one));
    // Each side is shown by whoever may look at it: its owner, or the seat across.
    this.sides = [0, 1].map(side => (seat === null || seat === side ? eyes[side].own : eyes[seat].foes));
  }

  sees(side) {
    return this.seat === null || this.seat === side;
  }

  // Names that owners gave, in the order of the rows.
  names(side) {
    const {tracker, home} = this.match;
    if (this.sees(side)) {
      const listed = this.match.request(side).side.pokemon;
      const left = home[side].filter(entry => !listed.some(other => other.ident === entry.ident));
      return [...listed, ...left].map(entry => entry.ident.slice(4));
    }
    const team = tracker.teams[side];
    const standing = team.slots.map(slot => slot.mon).filter(Boolean);
    return [...standing, ...team.mons.filter(mon => !standing.includes(mon))].map(mon => mon.name);
  }

  // [name, type, category, power, accuracy], once for each move that is mentioned.
  move(id) {
    if (!(id in this.moves)) {
      const move = this.dex.moves.get(id);
      this.moves[id] = [move.name, move.type, move.category, move.basePower, move.accuracy === true ? 0 : move.accuracy];
    }
    return id;
  }

  mon(row, name, side) {
    const {dex} = this;
    const max = row.stats[0];
    return {
      name: name || row.species.name, species: row.species.name, types: row.types, level: row.level, hp: Math.round(row.hp * 1000) / 1000,
      points: row.exact ? [Math.round(row.hp * max), max] : null, status: row.status, fainted: row.fainted, slot: row.fainted ? -1 : row.slot,
      item: row.itemKnown ? (row.item ? dex.items.get(row.item).name : '') : null,
      ability: row.abilityKnown ? dex.abilities.get(row.ability).name : null,
      tera: row.teraKnown ? row.tera : null, terastallized: row.terastallized, mega: row.mega,
      brought: this.sees(side) ? row.selected : row.shown ? true : null,
      moves: row.moves.map(move => [this.move(move.id), Math.round(move.pp * 100)]),
      boosts: Object.fromEntries(STATS.map((stat, i) => [stat, row.boosts[i]]).filter(([, value]) => value)),
      effects: Object.keys(row.volatiles).filter(id => !QUIET.has(id)).map(id => this.effect(id)),
    };
  }

  effect(id) {
    const found = this.dex.conditions.get(id);
    return found.exists && found.name ? found.name : this.dex.moves.get(id).name || id;
  }

  // [fewest, most] turns that are left, counting the coming one; null for what does not end by itself.
  left(since, turns, stretcher) {
    const gone = this.match.tracker.upkeeps - since;
    if (!stretcher) return [turns - gone, turns - gone];
    const may = this.sides.flat().some(row => !row.itemKnown || row.item === stretcher) ||
      this.match.tracker.teams.some(team => team.mons.some(mon => mon.lost === stretcher));
    return [Math.max(turns - gone, gone < turns ? 1 : LONG - gone), (may || gone >= turns ? LONG : turns) - gone];
  }

  sky() {
    const {weather, weatherSince, fields} = this.match.tracker;
    const found = [];
    if (weather) {
      const ends = WEATHER[weather];
      found.push({id: weather, name: WEATHER_NAMES[weather] || weather, left: ends ? this.left(weatherSince, SHORT, ends) : null});
    }
    for (const [id, since] of Object.entries(fields)) {
      const isTerrain = id.endsWith('terrain');
      found.push({id, name: this.effect(id), left: this.left(since, TURNS[id] || SHORT, isTerrain ? 'terrainextender' : '')});
    }
    return found;
  }

  conditions(side) {
    return Object.entries(this.match.tracker.teams[side].conditions).map(([id, {layers, since}]) => {
      const lasts = SCREENS.has(id) ? this.left(since, SHORT, 'lightclay') : TURNS[id] ? this.left(since, TURNS[id], '') : null;
      return {id, name: this.effect(id), layers, left: lasts};
    });
  }

  // Every line-up that may be brought, "leads/those who wait" in the order of the team, and the choice that brings it.
  lineups(request) {
    legal.writeMask(request, this.match.mask);
    const found = {};
    legal.PREVIEWS.forEach((order, i) => {
      if (!this.match.mask[i + 1]) return;
      const {leads, waits} = legal.lineup(request, i + 1);
      found[[leads, waits].map(part => part.slice().sort().join('')).join('/')] = order.join('');
    });
    return found;
  }

  // What a seat has to decide. Of a foe only what the other side knows is named: '' is a move or Pokémon never seen.
  asked(side) {
    const request = this.match.request(side);
    const kind = request.teamPreview ? 'preview' : request.forceSwitch ? 'switch' : request.active ? 'turn' : 'wait';
    const rows = this.match.perspective(side).own;
    const open = this.sees(side);
    const foes = open ? [] : this.sides[side];
    const known = row => foes.find(foe => foe.species === row.species);
    const bench = request.side.pokemon.map((_, i) => {
      const row = rows[i];
      return open || known(row)?.shown ? row.species.name : '';
    });
    const places = kind !== 'turn' ? [] : request.active.map((active, slot) => {
      const row = rows[slot];
      const seen = open ? null : new Set((known(row)?.moves || []).map(move => move.id));
      return {
        gimmick: open ? legal.gimmickOf(active) : '',
        moves: active.moves.map(move => (seen === null || seen.has(move.id) ?
          {id: this.move(move.id), pp: open ? [move.pp ?? 1, move.maxpp ?? 1] : null, disabled: open && Boolean(move.disabled)} : null)),
      };
    });
    const lineups = open && kind === 'preview' ? this.lineups(request) : null;
    return {kind, lineups, acting: this.match.isActing(side), bench, places, forced: request.forceSwitch || null, reviving: open && request.side.pokemon.some(entry => entry.reviving)};
  }

  draw() {
    const {match} = this;
    const sides = this.sides.map((rows, side) => {
      const names = this.names(side);
      return {
        mons: rows.map((row, i) => this.mon(row, names[i], side)), conditions: this.conditions(side),
        gimmickUsed: match.tracker.teams[side].gimmickUsed, asked: this.asked(side),
      };
    });
    return {
      format: match.plan.format, sheets: match.plan.sheets, turn: match.tracker.turn, sky: this.sky(), sides, moves: this.moves,
      over: match.over, brought: match.brought, places: match.battle.sides[0].active.length,
    };
  }
}

// The picture, and the log since the step before it.
function scene(match, seat, log) {
  return {...new Picture(match, seat).draw(), log};
}

module.exports = {scene};
