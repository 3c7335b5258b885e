// Eight bf16 weights of two neighbouring rows at a time. Prefix of the projection's kernels, after
// bf16.wgsl.

override ROW_EIGHTS: u32; // eights in a row of the weight, an even number

@group(0) @binding(1) var<storage, read> codes: array<vec4<u32>>; // bf16, as tileRows lays them
@group(0) @binding(2) var<storage, read> scales: array<u32>; // none

struct Raw {
  even: vec4<u32>,
  odd: vec4<u32>,
}

// Eight weights of two rows: pair `lane` of a tile's 32.
fn fetch(tile: u32, eight: u32, lane: u32) -> Raw {
  let at = (tile * ROW_EIGHTS + eight) * 64u + lane;
  return Raw(codes[at], codes[at + 32u]);
}

fn scale_of(row: u32, eight: u32) -> f32 {
  // Read, so that both kinds of weights have the same bindings.
  return select(1.0, 0.0, scales[0] == 1u);
}

// Four of the eight weights of the even row, and of the odd one.
fn even_of(raw: Raw, quad: u32) -> vec4<f32> {
  return four(raw.even, quad);
}

fn odd_of(raw: Raw, quad: u32) -> vec4<f32> {
  return four(raw.odd, quad);
}

fn four(row: vec4<u32>, quad: u32) -> vec4<f32> {
  let words = select(row.zw, row.xy, quad == 0u);
  return vec4(first_of(words.x), second_of(words.x), first_of(words.y), second_of(words.y));
}

// Four weights of any row.
fn four_at(row: u32, fours: u32) -> vec4<f32> {
  let at = (row / 64u * ROW_EIGHTS + fours / 2u) * 64u + row % 2u * 32u + row % 64u / 2u;
  return four(codes[at], fours % 2u);
}
