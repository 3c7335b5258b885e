// Counts the rows of a lookup on each page of the table. One thread a row of the output.
// After sort_rows.wgsl.

@group(0) @binding(3) var<storage, read_write> counts: array<atomic<u32>>; // [buckets], zeros

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let at = (group.x + group.y * groups.x) * 256u + thread;
  if at < sizes.rows_out {
    atomicAdd(&counts[place_of(at).x], 1u);
  }
}
