// kv = wkv · rows for up to TOKENS tokens: 32 threads share ROWS rows of the weight, sixteen weights
// a load, so that the weight is read once and in order. Grid: groups of rows, then tokens.
// After bf16.wgsl and a weights file; written out by `unroll`.

override WARPS: u32; // 32 threads each

struct Sizes {
  tokens: u32,
  features: u32, // outputs of this weight
  first_word: u32, // where they start in a token's output
  out_words: u32, // words from one token's output to the next
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(3) var<storage, read> rows: array<vec4<u32>>; // bf16 [T, in]
@group(0) @binding(4) var<storage, read_write> out: array<u32>; // bf16 [T, out_words * 2]

var<workgroup> partial: array<f32, WARPS * 33u * $TOKENSu>;

fn dot16(w: Sixteen, a: vec4<u32>, b: vec4<u32>) -> f32 {
  var s = w.a.x * first_of(a.x);
  s = fma(w.a.y, second_of(a.x), s);
  s = fma(w.a.z, first_of(a.y), s);
  s = fma(w.a.w, second_of(a.y), s);
  s = fma(w.b.x, first_of(a.z), s);
  s = fma(w.b.y, second_of(a.z), s);
  s = fma(w.b.z, first_of(a.w), s);
  s = fma(w.b.w, second_of(a.w), s);
  s = fma(w.c.x, first_of(b.x), s);
  s = fma(w.c.y, second_of(b.x), s);
  s = fma(w.c.z, first_of(b.y), s);
  s = fma(w.c.w, second_of(b.y), s);
  s = fma(w.d.x, first_of(b.z), s);
  s = fma(w.d.y, second_of(b.z), s);
  s = fma(w.d.z, first_of(b.w), s);
  return fma(w.d.w, second_of(b.w), s);
}

@compute @workgroup_size(32, WARPS)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_id) id: vec3<u32>,
) {
  let lane = id.x;
  let row = (group.x * WARPS + id.y) * $ROWSu;
  let token = group.y * $TOKENSu;
  // Rows and tokens past the end repeat the last one, and are not written.
  @repeat(r, ROWS)
  let row$r = min(row + $ru, sizes.features - 1u);
  @end
  @repeat(t, TOKENS)
  let x$t = min(token + $tu, sizes.tokens - 1u) * ROW_VECTORS * 2u;
  @end
  @repeat(r, ROWS)
  @repeat(t, TOKENS)
  var sum$r_$t = 0.0;
  @end
  @end
  for (var k = lane; k < ROW_VECTORS; k += 32u) {
    @repeat(r, ROWS)
    let raw$r = fetch(row$r, k);
    let scale$r = scale_of(row$r, k);
    @end
    @repeat(r, ROWS)
    let w$r = decode(raw$r);
    @end
    @repeat(t, TOKENS)
    {
      let a = rows[x$t + 2u * k];
      let b = rows[x$t + 2u * k + 1u];
      @repeat(r, ROWS)
      sum$r_$t = fma(dot16(w$r, a, b), scale$r, sum$r_$t);
      @end
    }
    @end
  }
  // Sums over the 32 threads, one row after the other: thread t adds up token t.
  let base = id.y * 33u * $TOKENSu;
  var total: array<f32, $ROWS>;
  @repeat(r, ROWS)
  @repeat(t, TOKENS)
  partial[base + $tu * 33u + lane] = sum$r_$t;
  @end
  workgroupBarrier();
  if lane < $TOKENSu {
    for (var i = 0u; i < 32u; i++) {
      total[$r] += partial[base + lane * 33u + i];
    }
  }
  workgroupBarrier();
  @end
  if lane < $TOKENSu && token + lane < sizes.tokens {
    let at = (token + lane) * sizes.out_words + sizes.first_word;
    @repeat(r, HALF_ROWS)
    if row + 2u * $ru < sizes.features {
      out[at + row / 2u + $ru] = pack(total[2 * $r], total[2 * $r + 1]);
    }
    @end
  }
}
