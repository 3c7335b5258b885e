// Re-lays rows gathered over ranks for one rank's tokens under sequence parallel: one thread writes
// one word (two bf16) of [chunk, columns, head_dim] from [tp, T, local_columns * head_dim].

struct Sizes {
  words: u32, // of the output
  values: u32, // chunk * columns * head_dim
  first_token: u32,
  tokens: u32, // T
  row: u32, // columns * head_dim
  share: u32, // local_columns * head_dim
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> gathered: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

fn value(at: u32) -> u32 {
  let token = sizes.first_token + at / sizes.row;
  if at >= sizes.values || token >= sizes.tokens {
    return 0u;
  }
  let across = at % sizes.row;
  let rank = across / sizes.share;
  let source = (rank * sizes.tokens + token) * sizes.share + across % sizes.share;
  return (gathered[source / 2u] >> (source % 2u * 16u)) & 0xffffu;
}

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let word = (group.x + group.y * groups.x) * 256u + thread;
  if word < sizes.words {
    out[word] = value(2u * word) | (value(2u * word + 1u) << 16u);
  }
}
