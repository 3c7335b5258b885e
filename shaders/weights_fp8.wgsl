// Sixteen fp8 weights of a row at a time. Prefix of the projection kernels.

override ROW_VECTORS: u32; // sixteens in a row of the weight
override KEEPS_SUBNORMALS: bool; // whether the device widens subnormal halves exactly
override BLOCK_ROWS: u32; // rows that share a scale
override BLOCK_VECTORS: u32; // sixteens that share a scale
override SCALE_COLUMNS: u32;

@group(0) @binding(1) var<storage, read> codes: array<vec4<u32>>; // [out, in] e4m3fn
@group(0) @binding(2) var<storage, read> scales: array<u32>; // bytes [ceil(out), ceil(in)] ue8m0

alias Raw = vec4<u32>;

struct Sixteen {
  a: vec4<f32>,
  b: vec4<f32>,
  c: vec4<f32>,
  d: vec4<f32>,
}

fn fetch(row: u32, vector: u32) -> Raw {
  return codes[row * ROW_VECTORS + vector];
}

// 2^8 times the scale: decoded codes come out 2^-8 too small.
fn scale_of(row: u32, vector: u32) -> f32 {
  let at = row / BLOCK_ROWS * SCALE_COLUMNS + vector / BLOCK_VECTORS;
  return bitcast<f32>((((scales[at / 4u] >> (at % 4u * 8u)) & 0xffu) + 8u) << 23u);
}

// A code at bits 20 and up, its sign at bit 31, where subnormal halves may be flushed: with 112
// added to its exponent it is a normal float32, and `min` mends the subnormal codes.
fn widen(magnitude: u32, sign: u32) -> f32 {
  let a = bitcast<f32>((magnitude & 0x07f00000u) | 0x38000000u);
  return bitcast<f32>(bitcast<u32>(min(a, fma(2.0, a, -0x1p-14))) | (sign & 0x80000000u));
}

fn four(word: u32) -> vec4<f32> {
  if KEEPS_SUBNORMALS {
    let even = unpack2x16float(((word & 0x007f007fu) << 7u) | ((word & 0x00800080u) << 8u));
    let odd = unpack2x16float(((word & 0x7f007f00u) >> 1u) | (word & 0x80008000u));
    return vec4(even.x, odd.x, even.y, odd.y);
  }
  return vec4(
    widen(word << 20u, word << 24u),
    widen(word << 12u, word << 16u),
    widen(word << 4u, word << 8u),
    widen(word >> 4u, word),
  );
}

fn decode(raw: Raw) -> Sixteen {
  return Sixteen(four(raw.x), four(raw.y), four(raw.z), four(raw.w));
}

// The four weights of number `quad` in a sixteen.
fn decode_four(row: u32, vector: u32, quad: u32) -> vec4<f32> {
  return four(codes[row * ROW_VECTORS + vector][quad]);
}
