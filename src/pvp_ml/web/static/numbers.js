// Numbers as people read them.

export function count(n) {
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(n) >= size) return `${(n / size).toFixed(Math.abs(n) < 10 * size ? 2 : 1)} ${unit}`;
  }
  if (Number.isInteger(n)) return String(n);
  return Math.abs(n) < 0.1 ? n.toPrecision(2) : n.toFixed(Math.abs(n) < 10 ? 2 : 1);
}

// A label of an axis: no zeros behind the point that say nothing.
export const brief = (n) => count(Number(n.toPrecision(6))).replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, "");

export const percent = (share, digits = 0) => `${(share * 100).toFixed(digits)} %`;

export function duration(seconds) {
  const whole = Math.round(seconds);
  for (const [unit, size, next, nextSize] of [["d", 86400, "h", 3600], ["h", 3600, "min", 60], ["min", 60, "s", 1]]) {
    if (whole >= size) {
      const rest = Math.floor((whole % size) / nextSize);
      return rest ? `${Math.floor(whole / size)} ${unit} ${rest} ${next}` : `${Math.floor(whole / size)} ${unit}`;
    }
  }
  return `${whole} s`;
}

export function ago(unixSeconds) {
  const seconds = Date.now() / 1000 - unixSeconds;
  return seconds < 60 ? "just now" : `${duration(seconds).split(" ").slice(0, 2).join(" ")} ago`;
}

// Round steps of an axis: 1, 2 or 5 times a power of ten.
export function ticks(low, high, wanted = 4) {
  if (!(high > low)) return [low];
  const raw = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((m) => m * power >= raw) * power;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  return found;
}
