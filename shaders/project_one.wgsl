// kv = wkv · rows for TOKENS tokens (one or two) whose inputs fit workgroup memory: 32 threads share
// ROWS rows of the weight and read it STEPS sixteens at a time, so that much of it is on the way.
// Grid: groups of rows, then tokens. After bf16.wgsl and a weights file; written out by `unroll`.

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

// [half, token, sixteen]: neighbouring threads read neighbouring vectors.
var<workgroup> inputs: array<vec4<u32>, 2u * $TOKENSu * ROW_VECTORS>;
var<workgroup> partial: array<f32, WARPS * 33u * $TOKENSu>;

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
  for (var i = lane + 32u * id.y; i < 2u * ROW_VECTORS; i += 32u * WARPS) {
    @repeat(t, TOKENS)
    inputs[(i % 2u * $TOKENSu + $tu) * ROW_VECTORS + i / 2u] =
      rows[min(token + $tu, sizes.tokens - 1u) * ROW_VECTORS * 2u + i];
    @end
  }
  @repeat(r, ROWS)
  @repeat(t, TOKENS)
  var sum$r_$t = 0.0;
  @end
  @end
  workgroupBarrier();
  var k = lane;
  for (; k + 32u * ($STEPSu - 1u) < ROW_VECTORS; k += 32u * $STEPSu) {
    @repeat(s, STEPS)
    @repeat(r, ROWS)
    let raw$s_$r = fetch(row$r, k + 32u * $su);
    let scale$s_$r = scale_of(row$r, k + 32u * $su);
    @end
    @end
    @repeat(s, STEPS)
    {
      @repeat(t, TOKENS)
      let a$t = inputs[$tu * ROW_VECTORS + k + 32u * $su];
      let b$t = inputs[($TOKENSu + $tu) * ROW_VECTORS + k + 32u * $su];
      @end
      @repeat(r, ROWS)
      {
        let w = decode(raw$s_$r);
        @repeat(t, TOKENS)
        sum$r_$t = fma(dot16(w, a$t, b$t), scale$s_$r, sum$r_$t);
        @end
      }
      @end
    }
    @end
  }
  for (; k < ROW_VECTORS; k += 32u) {
    @repeat(r, ROWS)
    {
      let w = decode(fetch(row$r, k));
      let scale = scale_of(row$r, k);
      @repeat(t, TOKENS)
      sum$r_$t = fma(
        dot16(w, inputs[$tu * ROW_VECTORS + k], inputs[($TOKENSu + $tu) * ROW_VECTORS + k]),
        scale,
        sum$r_$t,
      );
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
    @repeat(i, 32)
    total[$r] += partial[base + lane * 33u + $iu];
    @end
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
