// Eight fp8 weights of two neighbouring rows at a time. Prefix of the projection's kernels.

override ROW_EIGHTS: u32; // eights in a row of the weight, an even number
override KEEPS_SUBNORMALS: bool; // whether the device widens subnormal halves exactly
override BLOCK_ROWS: u32; // rows that share a scale, an even number or all
override BLOCK_EIGHTS: u32; // eights of a row that share a scale, an even number or all
override SCALE_COLUMNS: u32;

@group(0) @binding(1) var<storage, read> codes: array<vec4<u32>>; // e4m3fn, as tileRows lays them
@group(0) @binding(2) var<storage, read> scales: array<u32>; // bytes [ceil(out), ceil(in)] ue8m0

alias Raw = vec4<u32>;

// Eight weights of two rows: pair `lane` of a tile's 32.
fn fetch(tile: u32, eight: u32, lane: u32) -> Raw {
  return codes[(tile * ROW_EIGHTS + eight) * 32u + lane];
}

// 2^8 times the scale: decoded codes come out 2^-8 too small.
fn scale_of(row: u32, eight: u32) -> f32 {
  let at = row / BLOCK_ROWS * SCALE_COLUMNS + eight / BLOCK_EIGHTS;
  return bitcast<f32>((((scales[at / 4u] >> (at % 4u * 8u)) & 0xffu) + 8u) << 23u);
}

// A code at bits 20 and up, its sign at bit 31, where subnormal halves may be flushed: with 112
// added to its exponent it is a normal float32, and `min` mends the subnormal codes.
fn widen(magnitude: u32, sign: u32) -> f32 {
  let a = bitcast<f32>((magnitude & 0x07f00000u) | 0x38000000u);
  return bitcast<f32>(bitcast<u32>(min(a, fma(2.0, a, -0x1p-14))) | (sign & 0x80000000u));
}

// Four codes; see tileRows for the places of their bits.
fn four(word: u32) -> vec4<f32> {
  if KEEPS_SUBNORMALS {
    let even = unpack2x16float(word & 0xbf80bf80u);
    let odd = unpack2x16float(((word << 7u) & 0x3f803f80u) | ((word << 1u) & 0x80008000u));
    return vec4(even.x, odd.x, even.y, odd.y);
  }
  return vec4(
    widen(word << 13u, word << 16u),
    widen(word << 20u, word << 17u),
    widen(word >> 3u, word),
    widen(word << 4u, word << 1u),
  );
}

// Four of the eight weights of the even row, and of the odd one.
fn even_of(raw: Raw, quad: u32) -> vec4<f32> {
  return four(raw[quad]);
}

fn odd_of(raw: Raw, quad: u32) -> vec4<f32> {
  return four(raw[2u + quad]);
}

// Four weights of any row.
fn four_at(row: u32, fours: u32) -> vec4<f32> {
  let at = (row / 64u * ROW_EIGHTS + fours / 2u) * 32u + row % 64u / 2u;
  return four(codes[at][row % 2u * 2u + fours % 2u]);
}
