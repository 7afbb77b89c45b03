// Why a move cannot be made now, in a player's words. The mask decides; this only explains it.

const POTIONS = { brew: "brew", restore: "super_restore", combat: "super_combat", ranging: "ranging" };
const SPECIALS = { "mage-spec": "mage", "range-spec": "ranged", "melee-spec": "spec", maul: "spec" };
const ticks = (n) => (n === 1 ? "1 tick" : `${n} ticks`);
const below = ([now, full]) => now < full;

function attackReason(move, me, foe) {
  if (move.id in SPECIALS) {
    if (me.weapons[SPECIALS[move.id]] === null) return "you carry no weapon with a special attack for it";
    if (me.energy < 50) return `special energy is ${me.energy} %`;
  }
  if (["ice", "blood", "mage-spec"].includes(move.id) && me.lunar) return "you are on the Lunar spellbook";
  if (move.id === "ice" && me.levels.magic[0] < 58) return `Magic is ${me.levels.magic[0]}; Ice Rush needs 58`;
  if (move.id === "blood" && me.levels.magic[0] < 56) return `Magic is ${me.levels.magic[0]}; Blood Rush needs 56`;
  if (move.id === "blood" && !below(me.hp)) return "blood spells heal, and your hitpoints are full";
  const near = Math.max(Math.abs(me.position[0] - foe.position[0]), Math.abs(me.position[1] - foe.position[1])) <= 1;
  if (move.id.startsWith("melee") && me.timers.freeze && !near) return `you are frozen for ${ticks(me.timers.freeze)} and out of reach`;
  if (me.timers.attack) return `your next attack is ready in ${ticks(me.timers.attack)}`;
  if (!me.inventory.includes(null)) return "your inventory is full, so a shield cannot be put away";
  return "the weapon for it is not at hand";
}

function supplyReason(move, me) {
  if (move.id === "food") {
    if (!me.supplies.shark && !me.supplies.anglerfish) return "no food is left";
    return me.timers.food ? `you can eat again in ${ticks(me.timers.food)}` : "your hitpoints are full";
  }
  if (move.id === "karambwan") {
    if (!me.supplies.karambwan) return "no karambwan is left";
    return me.timers.karambwan ? `you can eat one again in ${ticks(me.timers.karambwan)}` : "your hitpoints are full";
  }
  if (!me.supplies[POTIONS[move.id]]) return "no dose is left";
  return me.timers.potion ? `you can drink again in ${ticks(me.timers.potion)}` : "it would change nothing now";
}

function moveReason(move, me, foe) {
  if (me.timers.freeze) return `you are frozen for ${ticks(me.timers.freeze)}`;
  const far = Math.max(Math.abs(me.position[0] - foe.position[0]), Math.abs(me.position[1] - foe.position[1]));
  if (move.id === "under") return far === 0 ? "you stand there already" : "you can stand under somebody only while they are frozen";
  if (far === Math.floor(move.away)) return "you stand there already";
  return "no tile at that distance can be reached";
}

function prayerReason(move, me, fightType) {
  if (me.overhead === move.shows) return "it is on already";
  if (!me.prayer[0]) return "no prayer points are left";
  if (["smite", "redemption"].includes(move.id)) return fightType === "LMS" ? "not allowed in LMS" : move.id === "smite" ? "Smite is off in this fight, or your attack is not ready" : "Redemption is off in this fight, or you have food";
  if (move.id === "pray-magic" && foe_is_lunar(me)) return "your opponent is on Lunar spells and cannot barrage";
  return "your opponent cannot hit you with that now";
}

const foe_is_lunar = (me) => me.foe?.lunar;

export function reason(move, scene, human) {
  const me = { ...scene.fighters[human], foe: scene.fighters[1 - human] };
  if (me.dying || me.foe.dying) return "the fight is over";
  if (move.group === "attack") return attackReason(move, me, me.foe);
  if (move.part === "food") return supplyReason(move, me);
  if (move.group === "move") return moveReason(move, me, me.foe);
  if (move.group === "prayer") return prayerReason(move, me, scene.fight_type);
  if (move.id === "veng") return me.lunar ? `Vengeance is ready in ${ticks(me.timers.vengeance)}` : "you are not on the Lunar spellbook";
  if (move.id === "tank") return "your opponent cannot attack yet";
  return "you wear it already";
}
