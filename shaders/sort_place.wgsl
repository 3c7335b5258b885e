// Lists the rows of a lookup bucket by bucket: (row of the table, row of the output). Rows held
// nowhere come last, as row 2^32 - 1. One thread a row of the output. After sort_rows.wgsl.

@group(0) @binding(3) var<storage, read_write> places: array<atomic<u32>>; // [buckets], next free place
@group(0) @binding(4) var<storage, read_write> order: array<vec2<u32>>; // [rows_out]

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let at = (group.x + group.y * groups.x) * 256u + thread;
  if at < sizes.rows_out {
    let place = place_of(at);
    order[atomicAdd(&places[place.x], 1u)] = vec2(place.y, at);
  }
}
