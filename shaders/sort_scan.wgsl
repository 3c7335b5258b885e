// Where each bucket starts, from the counts, which are left as zeros. One workgroup goes over them in
// tiles of four counts a thread.

const THREADS = 256u;

struct Sizes {
  buckets: u32,
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read_write> counts: array<vec4<u32>>; // [buckets], zeros behind
@group(0) @binding(2) var<storage, read_write> places: array<vec4<u32>>; // [buckets]

var<workgroup> totals: array<u32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) thread: u32) {
  var before = 0u;
  for (var tile = 0u; tile * 4u < sizes.buckets; tile += THREADS) {
    let at = tile + thread;
    var four = vec4(0u);
    if at * 4u < sizes.buckets {
      four = counts[at];
      counts[at] = vec4(0u);
    }
    let own = four.x + four.y + four.z + four.w;
    totals[thread] = own;
    for (var step = 1u; step < THREADS; step *= 2u) {
      workgroupBarrier();
      var add = 0u;
      if thread >= step {
        add = totals[thread - step];
      }
      workgroupBarrier();
      totals[thread] += add;
    }
    workgroupBarrier();
    let place = before + totals[thread] - own;
    if at * 4u < sizes.buckets {
      places[at] = vec4(place, place + four.x, place + four.x + four.y, place + four.x + four.y + four.z);
    }
    before += totals[THREADS - 1u];
    workgroupBarrier();
  }
}
