// The gates alone, for any hidden size: one workgroup a (token, copy). `gate_apply.wgsl` follows.
// After bf16.wgsl.

override HIDDEN: u32;
override COPIES: u32;
const THREADS = 256u;

struct Sizes {
  pairs: u32, // T * copies
  masked: u32, // 1: there is a mask
  eps: f32,
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> stream: array<u32>; // bf16 [T, copies, hidden]
@group(0) @binding(2) var<storage, read> kv: array<u32>; // bf16 [T, copies + 1, hidden]
@group(0) @binding(3) var<storage, read> scales: array<f32>; // q * k, [copies, hidden]
@group(0) @binding(4) var<storage, read> mask: array<u32>; // [T]
@group(0) @binding(5) var<storage, read_write> gates: array<f32>; // [T, copies]

var<workgroup> partial: array<vec3<f32>, THREADS>;

fn of_half(word: u32, at: u32) -> f32 {
  return select(second_of(word), first_of(word), at % 2u == 0u);
}

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let pair = group.x + group.y * groups.x;
  if pair >= sizes.pairs {
    return;
  }
  let copy = pair % COPIES;
  let token = pair / COPIES;
  var sum = vec3(0.0);
  for (var i = thread; i < HIDDEN; i += THREADS) {
    let at = pair * HIDDEN + i;
    let key_at = (token * (COPIES + 1u) + copy) * HIDDEN + i;
    let h = of_half(stream[at / 2u], at);
    let key = of_half(kv[key_at / 2u], key_at);
    sum += vec3(h * scales[copy * HIDDEN + i] * key, h * h, key * key);
  }
  partial[thread] = sum;
  for (var step = THREADS / 2u; step > 0u; step /= 2u) {
    workgroupBarrier();
    if thread < step {
      partial[thread] += partial[thread + step];
    }
  }
  if thread == 0u {
    let total = partial[0];
    let norms = inverseSqrt(total.y / f32(HIDDEN) + sizes.eps) *
      inverseSqrt(total.z / f32(HIDDEN) + sizes.eps);
    let dot = total.x * norms / sqrt(f32(HIDDEN));
    let root = sqrt(max(abs(dot), 1e-6));
    let g = 1.0 / (1.0 + exp(select(-root, root, dot < 0.0)));
    gates[pair] = select(g, 0.0, sizes.masked == 1u && mask[token] == 0u);
  }
}
