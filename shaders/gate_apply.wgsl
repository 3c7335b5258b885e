// The gated stream from known gates, for any hidden size: one thread writes one word (two bf16).
// After bf16.wgsl.

override HIDDEN: u32;
override COPIES: u32;

struct Sizes {
  words: u32, // of the output
  masked: u32, // 1: there is a mask
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> stream: array<u32>; // bf16 [T, copies, hidden]
@group(0) @binding(2) var<storage, read> kv: array<u32>; // bf16 [T, copies + 1, hidden]
@group(0) @binding(3) var<storage, read> gates: array<f32>; // [T, copies]
@group(0) @binding(4) var<storage, read> mask: array<u32>; // [T]
@group(0) @binding(5) var<storage, read_write> out: array<u32>; // bf16 [T, copies, hidden]

fn value(at: u32, h: u32) -> u32 {
  let pair = at / HIDDEN;
  let token = pair / COPIES;
  // Past the end the last word's upper half is nobody's.
  if pair >= arrayLength(&gates) || (sizes.masked == 1u && mask[token] == 0u) {
    return h;
  }
  let value_at = (token * (COPIES + 1u) + COPIES) * HIDDEN + at % HIDDEN;
  let word = kv[value_at / 2u];
  let v = select(second_of(word), first_of(word), value_at % 2u == 0u);
  return narrow(bitcast<u32>(fma(gates[pair], v, bitcast<f32>(h << 16u))));
}

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let word = (group.x + group.y * groups.x) * 256u + thread;
  if word < sizes.words {
    let h = stream[word];
    out[word] = value(2u * word, h & 0xffffu) | (value(2u * word + 1u, h >> 16u) << 16u);
  }
}
