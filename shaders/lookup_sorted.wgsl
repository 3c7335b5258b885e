// fp8 rows to bf16, in an order that keeps to one page of the table for long: each workgroup takes
// RUN turns over neighbouring entries of the order. After fp8_rows.wgsl.

override RUN: u32;

struct Sizes {
  rows_out: u32, // entries of the order
  first: u32, // rows held here: [first, end)
  end: u32,
  zeros: u32, // 1: rows held nowhere are written as zeros
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> order: array<vec2<u32>>; // (row, row of the output)
@group(0) @binding(2) var<storage, read_write> out: array<vec4<u32>>; // [T, local, head_dim]

const NOWHERE = 0xffffffffu;

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let first = (group.x + group.y * groups.x) * RUN * 512u + thread;
  for (var turn = 0u; turn < RUN; turn++) {
    let at = first + turn * 512u;
    // Past the end: an entry that no dispatch writes.
    var one = vec2(NOWHERE, NOWHERE);
    var two = vec2(NOWHERE, NOWHERE);
    if at / LANES < sizes.rows_out {
      one = order[at / LANES];
    }
    if (at + 256u) / LANES < sizes.rows_out {
      two = order[(at + 256u) / LANES];
    }
    let here_one = one.x >= sizes.first && one.x < sizes.end;
    let here_two = two.x >= sizes.first && two.x < sizes.end;
    var a = Piece(vec2(0u), 0u);
    var b = Piece(vec2(0u), 0u);
    if here_one {
      a = fetch(one.x - sizes.first, at % LANES);
    }
    if here_two {
      b = fetch(two.x - sizes.first, (at + 256u) % LANES);
    }
    if here_one || (sizes.zeros == 1u && one.x == NOWHERE && one.y != NOWHERE) {
      out[one.y * LANES + at % LANES] = decode(a);
    }
    if here_two || (sizes.zeros == 1u && two.x == NOWHERE && two.y != NOWHERE) {
      out[two.y * LANES + (at + 256u) % LANES] = decode(b);
    }
  }
}
