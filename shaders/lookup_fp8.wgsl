// fp8 rows to bf16, in the order of the ids. A thread has two rows on the way at a time. Grid:
// workgroups of 256 threads. After fp8_rows.wgsl.

struct Sizes {
  rows_out: u32, // T * local columns
  columns: u32, // of the ids
  local: u32, // columns served
  row_start: u32, // global number of the first row held
  rows: u32, // rows held
  first: u32, // rows held here: [first, first + CHUNK_ROWS * chunks)
  end: u32,
  zeros: u32, // 1: rows held nowhere are written as zeros
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> ids: array<u32>; // [T, columns]
@group(0) @binding(2) var<storage, read> local: array<u32>; // columns to serve
@group(0) @binding(3) var<storage, read_write> out: array<vec4<u32>>; // [T, local, head_dim]

const SKIP = 0xffffffffu;
const NONE = 0xfffffffeu;

// Where the row of output row `at` is held, counted from the table's first.
fn row_of(at: u32) -> u32 {
  if at >= sizes.rows_out {
    return SKIP;
  }
  let column = local[at % sizes.local];
  if column < sizes.columns {
    // A foreign or negative id wraps to a large number.
    let row = ids[at / sizes.local * sizes.columns + column] - sizes.row_start;
    if row < sizes.rows {
      return select(SKIP, row, row >= sizes.first && row < sizes.end);
    }
  }
  return select(SKIP, NONE, sizes.zeros == 1u);
}

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let first = (group.x + group.y * groups.x) * 512u + thread;
  let second = first + 256u;
  let row_a = row_of(first / LANES);
  let row_b = row_of(second / LANES);
  var a = Piece(vec2(0u), 0u);
  var b = Piece(vec2(0u), 0u);
  if row_a < NONE {
    a = fetch(row_a - sizes.first, first % LANES);
  }
  if row_b < NONE {
    b = fetch(row_b - sizes.first, second % LANES);
  }
  if row_a != SKIP {
    out[first] = decode(a);
  }
  if row_b != SKIP {
    out[second] = decode(b);
  }
}
