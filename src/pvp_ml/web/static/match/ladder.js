// The ladder of a game: opponents of rising strength, and how far up you have won. Kept in this browser.

const key = (game) => `ladder ${game}`;

export function rungs(arena) {
  return arena.contestants.filter((c) => c.rung > 0).sort((a, b) => a.rung - b.rung);
}

function climbed(game) {
  const kept = Number(localStorage.getItem(key(game)));
  return Number.isInteger(kept) && kept > 0 ? kept : 0;
}

// The first rung that you have not beaten; the last one once all are beaten.
export function nextRung(arena) {
  const all = rungs(arena);
  return all.find((c) => c.rung > climbed(arena.game)) ?? all.at(-1) ?? null;
}

// After a match that you won: remember the rung. Gives it, or null where nobody of the ladder was met.
export function beat(arena, ids) {
  const met = rungs(arena).filter((c) => ids.includes(c.id)).at(-1) ?? null;
  if (met && met.rung > climbed(arena.game)) localStorage.setItem(key(arena.game), String(met.rung));
  return met;
}
