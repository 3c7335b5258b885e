// Rows of bf16 values, further apart or nearer together: one thread writes one word (two values).
// Values that only the output's rows have room for are zeros.

struct Sizes {
  values: u32, // of the output
  in_stride: u32, // values from one row to the next in the input
  out_stride: u32, // … in the output
  width: u32, // values of a row that are copied
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> rows: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

fn value(at: u32) -> u32 {
  let across = at % sizes.out_stride;
  if at >= sizes.values || across >= sizes.width {
    return 0u;
  }
  let source = at / sizes.out_stride * sizes.in_stride + across;
  return (rows[source / 2u] >> (source % 2u * 16u)) & 0xffffu;
}

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let word = (group.x + group.y * groups.x) * 256u + thread;
  if 2u * word < sizes.values {
    out[word] = value(2u * word) | (value(2u * word + 1u) << 16u);
  }
}
