// What each kind of log line tells. Called with the tracker as `this`, the parts of the line and its first argument.
'use strict';

const {toID} = require('./simulator');
const {Mon, STATS, STAT_INDEX, effectId} = require('./knowledge');

const LINES = {
  'poke'(p) {
    const [name, ...rest] = p[3].split(', ');
    const species = this.dex.species.get(name.replace('-*', ''));
    this.teams[p[2].charCodeAt(1) - 49].mons.push(new Mon(species, 50, rest.find(x => x === 'M' || x === 'F') || ''));
  },
  'switch'(p, ident) { this.enter(ident, p[3], p[4], p); },
  'drag'(p, ident) { this.enter(ident, p[3], p[4], p); },
  'replace'(p, ident) { this.unmask(ident, p[3], p[4]); },
  'detailschange'(p, ident) {
    const mon = this.mon(ident);
    if (!mon) return;
    mon.species = this.dex.species.get(p[3].split(', ')[0]);
    const slot = this.slot(ident);
    if (slot) Object.assign(slot, {species: null, types: null});
    if (mon.species.isMega) this.replaceAbility(ident, toID(mon.species.abilities['0']));
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
    this.learnItem(mon, toID(p[4]));
    this.side(ident).gimmickUsed = true;
  },
  '-transform'(p, ident) { this.copyInto(ident, p[3]); },
  'swap'(p, ident) {
    const slots = this.side(ident).slots;
    const to = Number(p[3]);
    if (slots[to] !== this.slot(ident)) slots.reverse();
  },
  'move'(p, ident) { this.usedMove(p, ident); },
  'cant'(p, ident) {
    if (p[3].startsWith('ability: ')) return this.learnAbility(ident, effectId(p[3])); // names the holder, not the mover
    const slot = this.slot(ident);
    if (!slot || !slot.mon) return;
    slot.protects = 0;
    if (p[3] === 'slp') slot.mon.statusTurns++;
    if (p[3] === 'recharge') delete slot.volatiles.mustrecharge;
    if (p[4] && p[4][0] !== '[') this.learnMove(slot.mon, slot, toID(p[4]));
  },
  'faint'(p, ident) { this.faint(ident); },
  'turn'(p) { this.nextTurn(Number(p[2])); },
  '-damage'(p, ident) { this.health(ident, p[3]); },
  '-heal'(p, ident) { this.health(ident, p[3]); },
  '-sethp'(p, ident) { this.health(ident, p[3]); },
  '-status'(p, ident) {
    const mon = this.mon(ident);
    if (mon) this.setStatus(mon, p[3]);
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
    this.weatherTurn = this.turn;
  },
  '-fieldstart'(p) { this.startField(effectId(p[2])); },
  '-fieldend'(p) { delete this.fields[effectId(p[2])]; },
  '-sidestart'(p, ident) {
    const conditions = this.side(ident).conditions;
    const id = effectId(p[3]);
    if (conditions[id]) conditions[id].layers++;
    else conditions[id] = {layers: 1, turn: this.turn};
  },
  '-sideend'(p, ident) { delete this.side(ident).conditions[effectId(p[3])]; },
  '-swapsideconditions'() {
    const [a, b] = this.teams;
    [a.conditions, b.conditions] = [b.conditions, a.conditions];
  },
  '-start'(p, ident) { this.startEffect(p, ident); },
  '-end'(p, ident) { this.endEffect(p, ident); },
  '-singleturn'(p, ident) { if (this.slot(ident)) this.slot(ident).volatiles[effectId(p[3])] = 1; },
  '-singlemove'(p, ident) { if (this.slot(ident)) this.slot(ident).volatiles[effectId(p[3])] = 1; },
  '-activate'(p, ident) { if (/^p[12]/.test(ident)) this.activate(p, ident); },
  '-prepare'(p, ident) { if (this.slot(ident)) this.slot(ident).volatiles.twoturn = 1; },
  '-mustrecharge'(p, ident) { if (this.slot(ident)) this.slot(ident).volatiles.mustrecharge = 1; },
  '-item'(p, ident) { this.learnItem(this.mon(ident), toID(p[3])); },
  '-enditem'(p, ident) { this.learnItem(this.mon(ident), ''); },
  '-ability'(p, ident) {
    const of = p.find(part => part.startsWith('[of] '));
    if (p.includes('[from] ability: Trace')) {
      this.learnAbility(ident, 'trace');
      if (of) this.learnAbility(of.slice(5), toID(p[3]));
    }
    this.learnAbility(ident, toID(p[3]));
  },
  '-fail'(p, ident) { if (this.slot(ident)) this.slot(ident).protects = 0; },
  '-immune'() {},
  '-block'() {},
};

module.exports = {LINES};
