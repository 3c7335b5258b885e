// Where a row of a lookup is held: the page of the table, as a bucket, and the row. Rows held nowhere
// have a bucket behind the last page's. Prefix of sort_count.wgsl and sort_place.wgsl.

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

const NOWHERE = 0xffffffffu;

// Bucket and row of row `at` of the output.
fn place_of(at: u32) -> vec2<u32> {
  let column = local[at % sizes.local];
  if column < sizes.columns {
    // A foreign or negative id wraps to a large number.
    let row = ids[at / sizes.local * sizes.columns + column] - sizes.row_start;
    if row < sizes.rows {
      return vec2(row / CHUNK_ROWS * CHUNK_PAGES + row % CHUNK_ROWS * STRIDE / PAGE_BYTES, row);
    }
  }
  return vec2(sizes.buckets - 1u, NOWHERE);
}
