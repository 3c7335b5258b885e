// Adds up the slices of project_few.wgsl, in order, and rounds: a thread makes a token's pair of
// outputs. Grid: pairs, tokens. After bf16.wgsl; written out by `unroll`.

struct Sizes {
  token: u32, // the first
  tokens: u32, // the end of them
  features: u32, // outputs of this weight
  first_word: u32, // where they start in a token's output
  out_words: u32, // words from one token's output to the next
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> sums: array<vec2<f32>>; // [slice, token, pair]
@group(0) @binding(2) var<storage, read_write> out: array<u32>; // bf16 [T, out_words * 2]

@compute @workgroup_size(128)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let pair = group.x * 128u + thread;
  let pairs = (sizes.features + 1u) / 2u;
  if pair >= pairs {
    return;
  }
  let step = (sizes.tokens - sizes.token) * pairs;
  let at = group.y * pairs + pair;
  @repeat(s, SLICES)
  let part$s = sums[at + $su * step];
  @end
  var sum = vec2(0.0);
  @repeat(s, SLICES)
  sum += part$s;
  @end
  out[(sizes.token + group.y) * sizes.out_words + sizes.first_word + pair] = pack(sum.x, sum.y);
}
