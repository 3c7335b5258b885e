// Row numbers where heads come in fours and every prime is in [2^23, 2^24): each remainder takes two
// steps, and four columns leave in one store. Grid: workgroups of THREADS tokens, one z a layer.
// After lookback.wgsl.

struct Columns {
  prime: vec4<u32>,
  reciprocal: vec4<f32>, // a little below 2^12 / prime
  offset: vec4<u32>,
}

@group(0) @binding(7) var<storage, read> columns: array<Columns>; // [layers, columns / 4]
@group(0) @binding(8) var<storage, read_write> out: array<vec4<u32>>; // [count, layers, columns / 4]

// The 63-bit value is cut after its lowest 20 bits. What is above has a quotient of 20 bits, whose
// estimate from the upper word is at most one too low; so has what is left with the lowest bits.
fn remainder(value: vec2<u32>, c: Columns) -> vec4<u32> {
  let above = vec4((value.y << 12u) | (value.x >> 20u));
  var rest = above - vec4<u32>(f32(value.y) * c.reciprocal) * c.prime;
  rest = min(rest, rest - c.prime);
  let quotient = vec4<u32>(vec4<f32>(rest) * (c.reciprocal * 256.0));
  rest = ((rest << vec4(20u)) | vec4(value.x & 0xfffffu)) - quotient * c.prime;
  return min(rest, rest - c.prime);
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
  // THREADS is a multiple of `width`, so a thread keeps its columns.
  let width = (LOOKBACKS - 1u) * HEADS / 4u;
  let at = thread % width;
  let mine = columns[group.z * width + at];
  let source = at * 4u / HEADS * THREADS;
  for (var token = thread / width; token < THREADS; token += THREADS / width) {
    if first + token >= batch.count {
      break;
    }
    out[((first + token) * LAYERS + group.z) * width + at] =
      remainder(rolling[source + token], mine) + mine.offset;
  }
}
