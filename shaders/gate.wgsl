// The gate and the gated stream, where hidden is a multiple of 8. One workgroup takes one copy of
// TOKENS tokens in turn; each thread keeps its 16 values in registers from the sums to the output.
// After bf16.wgsl.

override HIDDEN: u32;
override COPIES: u32;
override THREADS: u32; // at least hidden / 16, a multiple of 32
override TOKENS: u32;

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
var<workgroup> sums: array<vec3<f32>, 16>;

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
  let eighths = HIDDEN / 8u;
  let number = group.x + group.y * groups.x;
  let copy = number % COPIES;
  let first = number / COPIES * TOKENS;
  let has_a = thread < eighths;
  let has_b = thread + THREADS < eighths;
  let at_a = select(0u, thread, has_a);
  let at_b = select(0u, thread + THREADS, has_b);
  var scale_a = array(vec4(0.0), vec4(0.0));
  var scale_b = array(vec4(0.0), vec4(0.0));
  if has_a {
    let at = (copy * eighths + at_a) * 2u;
    scale_a = array(scales[at], scales[at + 1u]);
  }
  if has_b {
    let at = (copy * eighths + at_b) * 2u;
    scale_b = array(scales[at], scales[at + 1u]);
  }
  for (var i = 0u; i < TOKENS; i++) {
    let token = first + i;
    if token >= sizes.tokens {
      break;
    }
    let row = (token * COPIES + copy) * eighths;
    let key = (token * (COPIES + 1u) + copy) * eighths;
    let value = (token * (COPIES + 1u) + COPIES) * eighths;
    var h_a = vec4(0u);
    var k_a = vec4(0u);
    var v_a = vec4(0u);
    var h_b = vec4(0u);
    var k_b = vec4(0u);
    var v_b = vec4(0u);
    if has_a {
      h_a = stream[row + at_a];
      k_a = kv[key + at_a];
      v_a = kv[value + at_a];
    }
    if has_b {
      h_b = stream[row + at_b];
      k_b = kv[key + at_b];
      v_b = kv[value + at_b];
    }
    partial[thread] = terms8(h_a, k_a, scale_a[0], scale_a[1]) + terms8(h_b, k_b, scale_b[0], scale_b[1]);
    workgroupBarrier();
    if thread < 16u {
      var sum = partial[thread];
      for (var j = thread + 16u; j < THREADS; j += 16u) {
        sum += partial[j];
      }
      sums[thread] = sum;
    }
    workgroupBarrier();
    let sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7])) +
      (((sums[8] + sums[9]) + (sums[10] + sums[11])) + ((sums[12] + sums[13]) + (sums[14] + sums[15])));
    let closed = sizes.masked == 1u && mask[token] == 0u;
    let g = select(gate_of(sum), 0.0, closed);
    if thread == 0u {
      gates[token * COPIES + copy] = g;
    }
    if has_a {
      out[row + at_a] = select(gated8(h_a, v_a, g), h_a, vec4(closed));
    }
    if has_b {
      out[row + at_b] = select(gated8(h_b, v_b, g), h_b, vec4(closed));
    }
  }
}
