// Sixteen bf16 weights of a row at a time. Prefix of the projection kernels, after bf16.wgsl.

override ROW_VECTORS: u32; // sixteens in a row of the weight

@group(0) @binding(1) var<storage, read> codes: array<vec4<u32>>; // [out, in] bf16
@group(0) @binding(2) var<storage, read> scales: array<u32>; // none

struct Raw {
  low: vec4<u32>,
  high: vec4<u32>,
}

struct Sixteen {
  a: vec4<f32>,
  b: vec4<f32>,
  c: vec4<f32>,
  d: vec4<f32>,
}

fn fetch(row: u32, vector: u32) -> Raw {
  let at = 2u * (row * ROW_VECTORS + vector);
  return Raw(codes[at], codes[at + 1u]);
}

fn scale_of(row: u32, vector: u32) -> f32 {
  // Read, so that both kinds of weights have the same bindings.
  return select(1.0, 0.0, scales[0] == 1u);
}

fn four(first: u32, second: u32) -> vec4<f32> {
  return vec4(first_of(first), second_of(first), first_of(second), second_of(second));
}

fn decode(raw: Raw) -> Sixteen {
  return Sixteen(
    four(raw.low.x, raw.low.y),
    four(raw.low.z, raw.low.w),
    four(raw.high.x, raw.high.y),
    four(raw.high.z, raw.high.w),
  );
}

// The four weights of number `quad` in a sixteen.
fn decode_four(row: u32, vector: u32, quad: u32) -> vec4<f32> {
  let at = 2u * (row * ROW_VECTORS + vector) + quad / 2u;
  let part = quad % 2u * 2u;
  return four(codes[at][part], codes[at][part + 1u]);
}
