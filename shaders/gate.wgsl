// The gate and the gated stream, where hidden is a multiple of 8. One workgroup takes one copy of one
// token; each thread keeps its 8 * VECTORS values in registers from the sums to the output.
// Grid: copies of the first token, of the second …
// After bf16.wgsl; written out by `unroll`.

override HIDDEN: u32;
override COPIES: u32;
override THREADS: u32; // threads * 8 * VECTORS is at least hidden
override EIGHTHS: u32 = HIDDEN / 8u;
override WHOLE: bool = EIGHTHS == THREADS * $VECTORSu; // no thread without values

struct Sizes {
  tokens: u32,
  masked: u32, // 1: there is a mask
  eps: f32,
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> stream: array<vec4<u32>>; // bf16 [T, copies, hidden]
@group(0) @binding(2) var<storage, read> kv: array<vec4<u32>>; // bf16 [T, copies + 1, hidden]
@group(0) @binding(3) var<storage, read> scales: array<vec4<f32>>; // q * k, f32 [copies, hidden]
@group(0) @binding(4) var<storage, read> mask: array<u32>; // [T]
@group(0) @binding(5) var<storage, read_write> gates: array<f32>; // [T, copies]
@group(0) @binding(6) var<storage, read_write> out: array<vec4<u32>>; // bf16 [T, copies, hidden]

var<workgroup> partial: array<vec3<f32>, THREADS>;
var<workgroup> sums: array<vec3<f32>, 8>;

// Σ h·scale·key, Σ h², Σ key² of the two values in a word.
fn terms(h: u32, key: u32, scale: vec2<f32>) -> vec3<f32> {
  let h1 = first_of(h);
  let h2 = second_of(h);
  let k1 = first_of(key);
  let k2 = second_of(key);
  return vec3(
    fma(h1 * scale.x, k1, h2 * scale.y * k2),
    fma(h1, h1, h2 * h2),
    fma(k1, k1, k2 * k2),
  );
}

fn terms8(h: vec4<u32>, key: vec4<u32>, a: vec4<f32>, b: vec4<f32>) -> vec3<f32> {
  return terms(h.x, key.x, a.xy) + terms(h.y, key.y, a.zw) +
    terms(h.z, key.z, b.xy) + terms(h.w, key.w, b.zw);
}

fn gated(h: u32, value: u32, g: f32) -> u32 {
  return pack(fma(g, first_of(value), first_of(h)), fma(g, second_of(value), second_of(h)));
}

fn gated8(h: vec4<u32>, value: vec4<u32>, g: f32) -> vec4<u32> {
  return vec4(
    gated(h.x, value.x, g), gated(h.y, value.y, g), gated(h.z, value.z, g), gated(h.w, value.w, g),
  );
}

fn gate_of(sum: vec3<f32>) -> f32 {
  let norms = inverseSqrt(sum.y / f32(HIDDEN) + sizes.eps) * inverseSqrt(sum.z / f32(HIDDEN) + sizes.eps);
  let dot = sum.x * norms / sqrt(f32(HIDDEN));
  let root = sqrt(max(abs(dot), 1e-6));
  return 1.0 / (1.0 + exp(select(-root, root, dot < 0.0)));
}

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let pair = group.x + group.y * groups.x;
  let copy = pair % COPIES;
  let token = pair / COPIES;
  if token >= sizes.tokens {
    return;
  }
  let row = pair * EIGHTHS;
  let key = (token * (COPIES + 1u) + copy) * EIGHTHS;
  let value = (token * (COPIES + 1u) + COPIES) * EIGHTHS;
  var sum = vec3(0.0);
  @repeat(i, VECTORS)
  let at$i = thread + $iu * THREADS;
  let real$i = WHOLE || at$i < EIGHTHS;
  var h$i = vec4(0u);
  var k$i = vec4(0u);
  var v$i = vec4(0u);
  if real$i {
    h$i = stream[row + at$i];
    k$i = kv[key + at$i];
    v$i = kv[value + at$i];
  }
  @end
  @repeat(i, VECTORS)
  if real$i {
    let at = (copy * EIGHTHS + at$i) * 2u;
    sum += terms8(h$i, k$i, scales[at], scales[at + 1u]);
  }
  @end
  partial[thread] = sum;
  workgroupBarrier();
  if thread < 8u {
    var part = vec3(0.0);
    @repeat(j, EIGHTS)
    part += partial[thread + $ju * 8u];
    @end
    sums[thread] = part;
  }
  workgroupBarrier();
  let total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  let closed = sizes.masked == 1u && mask[token] == 0u;
  let g = select(gate_of(total), 0.0, closed);
  if thread == 0u {
    gates[pair] = g;
  }
  @repeat(i, VECTORS)
  if real$i {
    out[row + at$i] = select(gated8(h$i, v$i, g), h$i, vec4(closed));
  }
  @end
}
