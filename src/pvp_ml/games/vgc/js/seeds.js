// Randomness as a value: everything in a match follows from one 64-bit seed.
'use strict';

const MASK64 = (1n << 64n) - 1n;

// SplitMix64: the n-th output for a seed (BigInt or decimal string).
function splitmix(seed, n) {
  let z = (BigInt(seed) + 0x9e3779b97f4a7c15n * BigInt(n + 1)) & MASK64;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK64;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK64;
  return z ^ (z >> 31n);
}

// The simulator's own generator takes four 16-bit words.
function battleSeed(seed) {
  const word = splitmix(seed, 0);
  return [0n, 16n, 32n, 48n].map(shift => Number((word >> shift) & 0xffffn)).join(',');
}

// A small generator for bots: mulberry32.
function generator(seed, stream) {
  let state = Number(splitmix(seed, stream + 1) & 0xffffffffn);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

module.exports = {battleSeed, generator, splitmix};
