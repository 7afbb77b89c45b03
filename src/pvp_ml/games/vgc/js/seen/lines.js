// What each kind of log line tells. Called with the tracker as `this`, the parts of the line and its first argument.
'use strict';

const {toID} = require('../simulator');
const {Mon, STATS, STAT_INDEX, effectId} = require('./knowledge');
const reveal = require('./reveal');

const STALLS = new Set(['protect', 'endure', 'quickguard', 'wideguard']); // as a guard that worked is announced

const LINES = {
  'poke'(p) {
    const [name, ...rest] = p[3].split(', ');
    const species = this.dex.species.get(name.replace('-*', ''));
    const mon = new Mon(species, 50, rest.find(x => x === 'M' || x === 'F') || '');
    reveal.inferAbility(mon);
    this.teams[p[2].charCodeAt(1) - 49].mons.push(mon);
  },
  'switch'(p, ident) { this.enter(ident, p[3], p[4], p); },
  'drag'(p, ident) { this.enter(ident, p[3], p[4], p); },
  'replace'(p, ident) { this.unmask(ident, p[3], p[4]); },
  'detailschange'(p, ident) {
    if (this.mon(ident)) reveal.changeForme(this, ident, this.dex.species.get(p[3].split(', ')[0]));
  },
  '-formechange'(p, ident) {
    const slot = this.slot(ident);
    if (slot) slot.species = this.dex.species.get(p[3].split(', ')[0]);
  },
  '-terastallize'(p, ident) {
    const mon = this.mon(ident);
    Object.assign(mon, {tera: toID(p[3]), teraKnown: true, terastallized: true});
    this.side(ident).gimmickUsed = true;
  },
  '-mega'(p, ident) {
    const mon = this.mon(ident);
    mon.mega = true;
    reveal.learnItem(mon, toID(p[4]));
    this.side(ident).gimmickUsed = true;
  },
  '-transform'(p, ident) {
    if (p.includes('[from] ability: Imposter')) reveal.learnAbility(this, ident, 'imposter');
    this.copyInto(ident, p[3]);
  },
  'swap'(p, ident) {
    const slots = this.side(ident).slots;
    const to = Number(p[3]);
    if (slots[to] !== this.slot(ident)) slots.reverse();
  },
  'move'(p, ident) { this.usedMove(p, ident); },
  'cant'(p, ident) {
    if (p[3].startsWith('ability: ')) return reveal.learnAbility(this, ident, effectId(p[3])); // names the holder, not the mover
    const slot = this.slot(ident);
    if (!slot || !slot.mon) return;
    delete slot.volatiles.twoturn;
    if (p[3] === 'slp') slot.mon.statusTurns++;
    if (p[3] === 'recharge') delete slot.volatiles.mustrecharge;
    if (p[4] && p[4][0] !== '[') this.learnMove(slot.mon, slot, toID(p[4]));
  },
  'faint'(p, ident) { this.faint(ident); },
  'turn'(p) { this.nextTurn(Number(p[2])); },
  'upkeep'() { this.upkeep(); },
  '-damage'(p, ident) { this.health(ident, p[3]); },
  '-heal'(p, ident) { this.health(ident, p[3]); },
  '-sethp'(p, ident) { this.health(ident, p[3]); },
  '-status'(p, ident) {
    const mon = this.mon(ident);
    if (!mon) return;
    this.setStatus(mon, p[3]);
    if (p.includes('[from] item: Toxic Orb')) mon.statusTurns = -1; // it works at the end of a turn, after the poison
  },
  '-curestatus'(p, ident) {
    const mon = this.mon(ident);
    if (mon) this.setStatus(mon, '');
  },
  '-cureteam'(p, ident) { for (const mon of this.side(ident).mons) if (!mon.fainted) this.setStatus(mon, ''); },
  '-boost'(p, ident) { this.boost(ident, p[3], Number(p[4])); },
  '-unboost'(p, ident) { this.boost(ident, p[3], -Number(p[4])); },
  '-setboost'(p, ident) { this.slot(ident).boosts[STAT_INDEX[p[3]]] = Number(p[4]); },
  '-swapboost'(p, ident) { this.swapBoosts(ident, p[3], p[4] && p[4][0] !== '[' ? p[4].split(', ') : STATS); },
  '-invertboost'(p, ident) { this.slot(ident).boosts.forEach((value, i, all) => { all[i] = -value; }); },
  '-clearboost'(p, ident) { this.slot(ident).boosts.fill(0); },
  '-clearallboost'() { for (const team of this.teams) for (const slot of team.slots) slot.boosts.fill(0); },
  '-clearpositiveboost'(p, ident) { this.slot(ident).boosts.forEach((v, i, all) => { all[i] = Math.min(v, 0); }); },
  '-clearnegativeboost'(p, ident) { this.slot(ident).boosts.forEach((v, i, all) => { all[i] = Math.max(v, 0); }); },
  '-copyboost'(p, ident) { this.slot(ident).boosts.set(this.slot(p[3]).boosts); },
  '-weather'(p) {
    if (p.includes('[upkeep]')) return;
    this.weather = p[2] === 'none' ? '' : toID(p[2]);
    this.weatherSince = this.upkeeps;
  },
  '-fieldstart'(p) { this.startField(effectId(p[2])); },
  '-fieldend'(p) { delete this.fields[effectId(p[2])]; },
  '-sidestart'(p, ident) {
    const conditions = this.side(ident).conditions;
    const id = effectId(p[3]);
    if (conditions[id]) conditions[id].layers++;
    else conditions[id] = {layers: 1, since: this.upkeeps};
  },
  '-sideend'(p, ident) { delete this.side(ident).conditions[effectId(p[3])]; },
  '-swapsideconditions'() {
    const [a, b] = this.teams;
    [a.conditions, b.conditions] = [b.conditions, a.conditions];
  },
  '-start'(p, ident) { this.startEffect(p, ident); },
  '-end'(p, ident) { this.endEffect(p, ident); },
  '-singleturn'(p, ident) {
    const slot = this.slot(ident);
    if (!slot) return;
    const id = effectId(p[3]);
    slot.volatiles[id] = 1;
    if (STALLS.has(id)) this.guarded(slot);
  },
  '-anim'(p, ident) { // a move that needs a turn was done at once
    const slot = this.slot(ident);
    if (slot) delete slot.volatiles.twoturn;
  },
  '-singlemove'(p, ident) { if (this.slot(ident)) this.slot(ident).volatiles[effectId(p[3])] = 1; },
  '-activate'(p, ident) { if (/^p[12]/.test(ident)) this.activate(p, ident); },
  '-prepare'(p, ident) { if (this.slot(ident)) this.slot(ident).volatiles.twoturn = 1; },
  '-mustrecharge'(p, ident) { if (this.slot(ident)) this.slot(ident).volatiles.mustrecharge = 1; },
  '-item'(p, ident) { reveal.gainItem(this, p, ident); },
  '-enditem'(p, ident) { reveal.loseItem(this, this.mon(ident), toID(p[3])); },
  '-ability'(p) { reveal.changeAbility(this, p); },
  '-endability'(p, ident) { if (this.slot(ident)) this.slot(ident).volatiles.gastroacid = 1; },
  '-fail'(p, ident) {
    const slot = this.slot(ident);
    if (slot && p.length === 3 && this.dex.moves.get(slot.lastMove).stallingMove) slot.protects = slot.stall = 0;
  },
  '-immune'() {},
  '-block'() {},
};

module.exports = {LINES};
