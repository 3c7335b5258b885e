// Lists the rows of a lookup bucket by bucket: (row of the table, row of the output). Rows held
// nowhere come last, as row 2^32 - 1. One thread a row of the output.

override CHUNK_ROWS: u32; // rows in each buffer of the table
override CHUNK_PAGES: u32; // pages of each buffer
override STRIDE: u32; // bytes from one record to the next
override PAGE_BYTES: u32;

struct Sizes {
  rows_out: u32, // T * local columns
  columns: u32, // of the ids
  local: u32, // columns served
  row_start: u32, // global number of the first row held
  rows: u32, // rows held
  buckets: u32, // the last one included
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> ids: array<u32>; // [T, columns]
@group(0) @binding(2) var<storage, read> local: array<u32>; // columns to serve
@group(0) @binding(3) var<storage, read_write> places: array<atomic<u32>>; // [buckets], next free place
@group(0) @binding(4) var<storage, read_write> order: array<vec2<u32>>; // [rows_out]

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let at = (group.x + group.y * groups.x) * 256u + thread;
  if at >= sizes.rows_out {
    return;
  }
  let column = local[at % sizes.local];
  var bucket = sizes.buckets - 1u;
  var held = 0xffffffffu;
  if column < sizes.columns {
    let row = ids[at / sizes.local * sizes.columns + column] - sizes.row_start;
    if row < sizes.rows {
      bucket = row / CHUNK_ROWS * CHUNK_PAGES + row % CHUNK_ROWS * STRIDE / PAGE_BYTES;
      held = row;
    }
  }
  order[atomicAdd(&places[bucket], 1u)] = vec2(held, at);
}
