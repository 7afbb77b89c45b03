// A decision of a recorded battle, as its seat saw it: of an input log, of a spectator's log, or of two teams at preview.
'use strict';

const {Battle, Dex, Teams} = require('../simulator');
const {Match} = require('../match');
const {Reconstruction} = require('../replays/reconstruct');
const {rerun} = require('../replays/rerun');
const {isUntrained, read, train} = require('../teams/teams');
const {cloneTracker} = require('./clone');

const STATS = ['atk', 'def', 'spa', 'spd', 'spe'];

// Keeps the decision of that seat: the first of the turn, or the last of all.
class Keeper {
  constructor(seat, turn) {
    Object.assign(this, {seat, turn, found: null});
  }

  look(seat, tracker, request, home) {
    if (seat !== this.seat || (this.turn !== null && (tracker.turn !== this.turn || this.found))) return null;
    this.found = {tracker: cloneTracker(tracker), request: structuredClone(request), home: structuredClone(home)};
    return null;
  }

  send() {}
}

// A team as text or packed, completed and packed; '' stays ''.
function packed(format, text) {
  const team = text ? read(text) : null;
  if (!team) return '';
  const {adjustLevel} = Dex.formats.getRuleTable(Dex.formats.get(format));
  for (const set of team) {
    set.level = adjustLevel || set.level;
    if (isUntrained(set)) train(Dex.forFormat(format), set);
  }
  return Teams.pack(team);
}

function atPreview({format, teams, sheets, seat}) {
  const match = new Match({
    slot: 0, serial: 0, seed: '0', format, sheets, teams: teams.map(text => packed(format, text)), bots: ['', ''],
    adviser: '', maxSteps: 10, keepLog: false,
  });
  const found = {tracker: match.tracker, request: match.request(seat), home: match.home[seat]};
  match.close();
  return found;
}

// The own team sheet stands in the log, where there is none: a player knows it.
function withSheet(lines, seat, team) {
  const tag = `|showteam|p${seat + 1}|`;
  const last = lines.findLastIndex(line => line.startsWith('|poke|'));
  if (!team || last < 0 || lines.some(line => line.startsWith(tag))) return lines;
  return [...lines.slice(0, last + 1), tag + team, ...lines.slice(last + 1)];
}

// A log shows no stats; the own team does.
function withStats({tracker, request, home}, format, team) {
  const sets = team ? Teams.unpack(team) : [];
  const battle = new Battle({formatid: format});
  for (const entry of [...request.side.pokemon, ...home]) {
    const [name, level] = entry.details.split(', ');
    const species = tracker.dex.species.get(name);
    const set = sets.find(own => tracker.dex.species.get(own.species || own.name).baseSpecies === species.baseSpecies);
    if (!set) continue;
    const whole = {...set, level: Number(level.slice(1)), evs: {...EMPTY, ...set.evs}, ivs: {...FULL, ...set.ivs}};
    const stats = battle.spreadModify(species.baseStats, whole);
    entry.stats = Object.fromEntries(STATS.map(stat => [stat, stats[stat]]));
    const [hp, ...status] = entry.condition.split(' ');
    const [now, max] = hp.split('/').map(Number);
    if (max) entry.condition = [`${Math.max(1, Math.round(now / max * stats.hp))}/${stats.hp}`, ...status].join(' ');
  }
  return {tracker, request, home};
}

const EMPTY = {hp: 0, atk: 0, def: 0, spa: 0, spd: 0, spe: 0};
const FULL = {hp: 31, atk: 31, def: 31, spa: 31, spd: 31, spe: 31};

// {tracker, request, home} of what is asked for: {format, lines or teams, sheets, seat, turn or null, team}.
function recordedPosition(asked) {
  if (asked.teams) return atPreview(asked);
  const {format, lines, sheets, seat, turn} = asked;
  const team = packed(format, asked.team);
  const keeper = new Keeper(seat, turn);
  const isInput = lines.some(line => line.startsWith('>start '));
  if (isInput) rerun(lines, sheets, keeper);
  else new Reconstruction(format, withSheet(lines, seat, team), keeper).run();
  if (!keeper.found) throw new Error(`seat ${seat + 1} decides nothing ${turn === null ? 'in this log' : `in turn ${turn}`}`);
  return isInput ? keeper.found : withStats(keeper.found, format, team);
}

module.exports = {recordedPosition};
