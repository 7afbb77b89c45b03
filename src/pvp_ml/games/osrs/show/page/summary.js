// What players talk about after a fight, read from its frames: prayers, hits, damage by style, freezes, food.

const STYLES = ["melee", "ranged", "magic"];
const FOOD = ["shark", "anglerfish", "karambwan"];

const share = (part, whole) => (whole ? `${part} of ${whole} (${Math.round((part / whole) * 100)} %)` : "–");

// Damage that a fighter took in a step, by style. Hits under way are queued with their style; the rest of a splat came
// from a melee swing of the same tick, or from recoil.
function landed(frame, before, victim) {
  const { count, damage } = frame.scene.fighters[victim].splats;
  if (!count || !damage) return [];
  const due = [...(before?.scene.fighters[victim].incoming ?? [])].sort((a, b) => a.delay - b.delay).slice(0, count).map((hit) => hit.style);
  while (due.length < count) due.push(frame.scene.fighters[1 - victim].attack?.style ?? "other");
  return due.map((style) => [style, damage / count]);
}

export function tally(frames) {
  const sides = [0, 1].map(() => ({ attacks: 0, off: 0, faced: 0, prayed: 0, freezes: 0, specials: 0, damage: { melee: 0, ranged: 0, magic: 0, other: 0 } }));
  frames.forEach((frame, step) => {
    for (const seat of [0, 1]) {
      const { attack } = frame.scene.fighters[seat];
      const [mine, theirs] = [sides[seat], sides[1 - seat]];
      if (attack) {
        mine.attacks += 1;
        mine.off += attack.matched ? 0 : 1;
        mine.freezes += attack.froze ? 1 : 0;
        mine.specials += attack.special ? 1 : 0;
        theirs.faced += 1;
        theirs.prayed += attack.matched ? 1 : 0;
      }
      for (const [style, damage] of landed(frame, frames[step - 1], 1 - seat)) mine.damage[style in mine.damage ? style : "other"] += damage;
    }
  });
  return sides;
}

// The step after which the winner was never behind again: by its stated chance where one was shown, else by hitpoints.
export function turningPoint(frames, winner) {
  if (winner < 0 || frames.length < 4) return null;
  const lead = frames.map((frame) => {
    const stated = frame.thoughts?.[winner]?.win ?? (frame.thoughts?.[1 - winner]?.win != null ? 1 - frame.thoughts[1 - winner].win : null);
    const [me, foe] = [frame.scene.fighters[winner], frame.scene.fighters[1 - winner]];
    return stated !== null ? stated - 0.5 : me.hp[0] / me.hp[1] - foe.hp[0] / foe.hp[1];
  });
  let step = lead.length - 1;
  while (step > 0 && lead[step] >= 0) step -= 1;
  return Math.min(step + 1, lead.length - 1);
}

function deed(frame, before, seat, names) {
  const fighter = frame.scene.fighters[seat];
  const lost = frame.scene.fighters[1 - seat].splats.damage;
  if (fighter.attack?.special) return `${names[seat]} uses a special attack`;
  if (lost) return `${names[seat]} hits ${lost}`;
  if (fighter.attack?.froze) return `${names[seat]} lands a freeze`;
  return `${names[seat]} takes the lead`;
}

export function summary(log) {
  const { frames, facts } = log;
  const last = frames.at(-1);
  if (frames.length < 2 || last?.scene.kind !== "osrs") return null;
  const sides = tally(frames);
  const food = (seat) => FOOD.reduce((sum, name) => sum + (last.scene.fighters[seat].supplies[name] ?? 0), 0);
  const row = (label, value) => [label, value(sides[0], 0), value(sides[1], 1)];
  const rows = [
    row("Correct prayers", (side) => share(side.prayed, side.faced)),
    row("Hits off prayer", (side) => share(side.off, side.attacks)),
    ...STYLES.map((style) => row(`${style[0].toUpperCase()}${style.slice(1)} damage`, (side) => String(Math.round(side.damage[style])))),
    row("Freezes", (side) => String(side.freezes)),
    row("Special attacks", (side) => String(side.specials)),
    row("Food left", (_, seat) => String(food(seat))),
    row("Brew doses left", (_, seat) => String(last.scene.fighters[seat].supplies.brew)),
  ];
  const winner = (last.result ?? []).indexOf(1);
  const step = turningPoint(frames, winner);
  return { rows, turn: step === null ? null : { step, text: deed(frames[step], frames[step - 1], winner, facts.names ?? ["first", "second"]) } };
}
