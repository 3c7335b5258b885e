// Row numbers of any layout: one thread a token rolls its n-grams, then one thread a column reduces
// them. Grid: workgroups of THREADS tokens, one z for each layer.
// After lookback.wgsl.

struct Column {
  prime: u32,
  reciprocal: f32, // a little below 1 / prime
  offset: u32,
  unused: u32,
}

@group(0) @binding(7) var<storage, read> columns: array<Column>; // [layers, columns]
@group(0) @binding(8) var<storage, read_write> out: array<u32>; // [count, layers, columns]

// (rest * 2^16 + digit) mod prime, for rest below prime below 2^31. The quotient has 16 bits and its
// estimate is at most one too low, so that the remainder fits 32 bits before the last step.
fn shift_in(rest: u32, digit: u32, column: Column) -> u32 {
  let quotient = u32((f32(rest) * 65536.0 + f32(digit)) * column.reciprocal);
  let remainder = ((rest << 16u) | digit) - quotient * column.prime;
  return min(remainder, remainder - column.prime);
}

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let first = (group.x + group.y * groups.x) * THREADS;
  roll(first + thread, thread, group.z);
  workgroupBarrier();
  let width = (LOOKBACKS - 1u) * HEADS;
  for (var i = thread; i < THREADS * width; i += THREADS) {
    let token = i / width;
    if first + token >= batch.count {
      break;
    }
    let at = i % width;
    let value = rolling[at / HEADS * THREADS + token];
    let column = columns[group.z * width + at];
    var rest = shift_in(0u, value.y >> 16u, column);
    rest = shift_in(rest, value.y & 0xffffu, column);
    rest = shift_in(rest, value.x >> 16u, column);
    rest = shift_in(rest, value.x & 0xffffu, column);
    out[((first + token) * LAYERS + group.z) * width + at] = rest + column.offset;
  }
}
