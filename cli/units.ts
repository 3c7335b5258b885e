/** `n` bytes for people, in binary units; exact below 1 KiB. */
export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = n / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0)} ${
    units[unit]
  }`;
}

/** A count with thousands separators. */
export function count(n: number | bigint): string {
  return COUNT.format(n);
}

/** Made once: `toLocaleString` makes one for each number. */
const COUNT = new Intl.NumberFormat("en-US");

/** A count and what is counted: `1 request`, `2 requests`. */
export function counted(n: number, one: string): string {
  return `${count(n)} ${one}${n === 1 ? "" : "s"}`;
}

/** A duration for people. */
export function seconds(s: number): string {
  if (s < 1e-3) return `${(s * 1e6).toFixed(1)} µs`;
  if (s < 1) return `${(s * 1e3).toFixed(1)} ms`;
  if (s < 120) return `${s.toFixed(2)} s`;
  return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
}
