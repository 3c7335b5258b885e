// Where each bucket starts, from the counts, which are left as zeros. One workgroup.

const THREADS = 256u;

struct Sizes {
  buckets: u32,
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>; // [buckets]
@group(0) @binding(2) var<storage, read_write> places: array<u32>; // [buckets]

var<workgroup> totals: array<u32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) thread: u32) {
  let share = (sizes.buckets + THREADS - 1u) / THREADS;
  let first = min(thread * share, sizes.buckets);
  let end = min(first + share, sizes.buckets);
  var total = 0u;
  for (var i = first; i < end; i++) {
    total += counts[i];
  }
  totals[thread] = total;
  workgroupBarrier();
  if thread == 0u {
    var sum = 0u;
    for (var i = 0u; i < THREADS; i++) {
      let own = totals[i];
      totals[i] = sum;
      sum += own;
    }
  }
  workgroupBarrier();
  var place = totals[thread];
  for (var i = first; i < end; i++) {
    let own = counts[i];
    places[i] = place;
    counts[i] = 0u;
    place += own;
  }
}
