// AssemblyScript: rows of a table looked at sixteen bytes at a time. See ../simd.ts.

/**
 * Writes one flag a row: 0 where it is plain, 1 where it is one 32-bit word over and over, 2 where it
 * has to be looked at by value. `exponent`, `one` and `carry` are as of `WordTest` in row_flags.ts;
 * `bytes` is a multiple of 4. Returns how many flags are not 0.
 */
export function lookAtRows(
  at: usize,
  rows: u32,
  stride: u32,
  bytes: u32,
  exponent: i32,
  one: i32,
  carry: i32,
  flags: usize,
): u32 {
  const mask = i32x4.splat(exponent);
  const ones = i32x4.splat(one);
  const carries = i32x4.splat(carry);
  const wide = bytes & ~15;
  let odd: u32 = 0;
  for (let row: u32 = 0; row < rows; row++, at += stride) {
    const first = v128.load32_splat(at);
    let bad = i32x4.splat(0);
    let magnitude = i32x4.splat(0);
    let differs = i32x4.splat(0);
    for (let i: u32 = 0; i < bytes; i += i < wide ? 16 : 4) {
      const words = i < wide ? v128.load(at + i) : v128.load32_splat(at + i);
      const exponents = v128.and(words, mask);
      bad = v128.or(bad, i32x4.add(exponents, ones));
      magnitude = v128.or(magnitude, exponents);
      differs = v128.or(differs, v128.xor(words, first));
    }
    let flag: u8 = 0;
    if (!v128.any_true(differs)) flag = 1;
    else if (v128.any_true(v128.and(bad, carries))) flag = 2;
    else if (exponent != 0 && !v128.any_true(magnitude)) flag = 2;
    store<u8>(flags + row, flag);
    if (flag != 0) odd++;
  }
  return odd;
}

/**
 * Counts the values of `bytes` bytes of each row into four tables of 256 u32 at `counts`, to be added
 * up: neighbouring bytes are often equal, and a counter just written is slow to read again.
 */
export function countBytes(
  at: usize,
  rows: u32,
  stride: u32,
  bytes: u32,
  counts: usize,
): void {
  const wide = bytes & ~3;
  for (let row: u32 = 0; row < rows; row++, at += stride) {
    let i: u32 = 0;
    for (; i < wide; i += 4) {
      const word = load<u32>(at + i);
      count(counts, word & 255);
      count(counts + 1024, (word >> 8) & 255);
      count(counts + 2048, (word >> 16) & 255);
      count(counts + 3072, word >> 24);
    }
    for (; i < bytes; i++) count(counts, load<u8>(at + i));
  }
}

function count(counts: usize, value: u32): void {
  const place = counts + (<usize> value << 2);
  store<u32>(place, load<u32>(place) + 1);
}
