// fp8 rows to bf16, in the order of the ids. A thread has PIECES rows on the way at a time.
// After fp8_rows.wgsl; written out by `unroll`.

override GROUP: u32; // threads of a workgroup
override COLUMNS: u32; // of the ids
override LOCAL: u32; // columns served
override ALL: bool; // the columns served are all, in order

struct Sizes {
  rows_out: u32, // T * local columns
  row_start: u32, // global number of the first row held
  rows: u32, // rows held
  first: u32, // rows held here: [first, end)
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
  var place = at;
  if !ALL {
    let column = local[at % LOCAL];
    if column >= COLUMNS {
      return select(SKIP, NONE, sizes.zeros == 1u);
    }
    place = at / LOCAL * COLUMNS + column;
  }
  // A foreign or negative id wraps to a large number.
  let row = ids[place] - sizes.row_start;
  if row >= sizes.rows {
    return select(SKIP, NONE, sizes.zeros == 1u);
  }
  return select(SKIP, row, row >= sizes.first && row < sizes.end);
}

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let first = (group.x + group.y * groups.x) * GROUP * $PIECESu + thread;
  @repeat(i, PIECES)
  let at$i = first + $iu * GROUP;
  let row$i = row_of(at$i / LANES);
  @end
  @repeat(i, PIECES)
  var piece$i = Piece(vec2(0u), 0u);
  if row$i < NONE {
    piece$i = fetch(row$i - sizes.first, at$i % LANES);
  }
  @end
  @repeat(i, PIECES)
  if row$i != SKIP {
    out[at$i] = decode(piece$i);
  }
  @end
}
