// Whether the device widens subnormal halves exactly (a shader may flush them): the widened values of
// all seven subnormal fp8 codes, both signs, as float32 bits.

struct Sizes {
  first: u32, // an fp8 code given at run time, so that nothing is worked out by the compiler
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read_write> out: array<u32>; // [14]

@compute @workgroup_size(7)
fn main(@builtin(local_invocation_index) thread: u32) {
  let code = sizes.first + thread;
  let pair = unpack2x16float((code << 7u) | ((code << 23u) | 0x80000000u));
  out[thread] = bitcast<u32>(pair.x * 2.0);
  out[thread + 7u] = bitcast<u32>(pair.y * 2.0);
}
