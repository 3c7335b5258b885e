// Rows as they are kept, codes and scales: one thread copies one element. Every id is a row of the table.
// After the table's bindings: `records_at(chunk, element)`, which gives an `Element`.

override CHUNK_ROWS: u32; // rows in each buffer of the table
override ELEMENTS: u32; // from one record to the next

struct Sizes {
  elements: u32, // of the output
  first: u32, // rows held here: [first, end)
  end: u32,
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<Element>; // [ids, ELEMENTS]

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let at = (group.x + group.y * groups.x) * 256u + thread;
  if at >= sizes.elements {
    return;
  }
  let row = ids[at / ELEMENTS];
  if row >= sizes.first && row < sizes.end {
    let inside = row - sizes.first;
    out[at] = records_at(inside / CHUNK_ROWS, inside % CHUNK_ROWS * ELEMENTS + at % ELEMENTS);
  }
}
