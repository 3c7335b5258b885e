// bf16 pairs in 32-bit words: the first value is the lower half.

fn first_of(word: u32) -> f32 {
  return bitcast<f32>(word << 16u);
}

fn second_of(word: u32) -> f32 {
  return bitcast<f32>(word & 0xffff0000u);
}

// Bits of a float32 rounded to nearest even bf16; any NaN is 0x7fff. By integers, since a shader
// may be compiled as if there were no NaN.
fn narrow(bits: u32) -> u32 {
  let rounded = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
  return select(rounded, 0x7fffu, (bits & 0x7fffffffu) > 0x7f800000u);
}

fn pack(first: f32, second: f32) -> u32 {
  return narrow(bitcast<u32>(first)) | (narrow(bitcast<u32>(second)) << 16u);
}
