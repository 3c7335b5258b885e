// kv = wkv · rows for up to TOKENS tokens: 32 threads share ROWS rows of the weight, one sixteen a
// thread at a time, so that the weight is read once and in order. Inputs come through workgroup
// memory, 32 sixteens at a time; the next ones and the next weights are on the way meanwhile.
// Grid: groups of rows, then tokens. After bf16.wgsl, a weights file and dot16.wgsl; written out by
// `unroll`.

override WARPS: u32; // 32 threads each
override THREADS: u32 = 32u * WARPS;

struct Sizes {
  tokens: u32,
  features: u32, // outputs of this weight
  first_word: u32, // where they start in a token's output
  out_words: u32, // words from one token's output to the next
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(3) var<storage, read> rows: array<vec4<u32>>; // bf16 [T, in]
@group(0) @binding(4) var<storage, read_write> out: array<u32>; // bf16 [T, out_words * 2]

// [half and token, sixteen]: neighbouring threads read neighbouring vectors. Nested, because WGSL
// checks an index that is not a constant at every use: so only the inner one is checked, once.
var<workgroup> inputs: array<array<vec4<u32>, 32>, 2u * $TOKENSu>;
// Half of the groups of 32 threads at a time.
var<workgroup> partial: array<f32, WARPS / 2u * 33u * $TOKENSu>;

// Vector `at` of the inputs from sixteen `base` on: [token, sixteen, half].
fn input_at(token: u32, base: u32, at: u32) -> vec4<u32> {
  let sixteen = base + at % 64u / 2u;
  if sixteen >= ROW_VECTORS {
    return vec4(0u);
  }
  // Tokens past the end repeat the last one, and are not written.
  let from_token = min(token + at / 64u, sizes.tokens - 1u);
  return rows[(from_token * ROW_VECTORS + sixteen) * 2u + at % 2u];
}

@compute @workgroup_size(32, WARPS)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_id) id: vec3<u32>,
) {
  let lane = id.x;
  let thread = id.x + 32u * id.y;
  let row = (group.x * WARPS + id.y) * $ROWSu;
  let token = group.y * $TOKENSu;
  @repeat(r, ROWS)
  // Rows past the end repeat the last one, and are not written.
  let row$r = min(row + $ru, sizes.features - 1u);
  var next$r = fetch(row$r, min(lane, ROW_VECTORS - 1u));
  var next_scale$r = scale_of(row$r, min(lane, ROW_VECTORS - 1u));
  @end
  @repeat(p, SHARE)
  var input$p = input_at(token, 0u, thread + $pu * THREADS);
  let place$p = (thread + $pu * THREADS) % 2u * $TOKENSu + (thread + $pu * THREADS) / 64u;
  let sixteen$p = (thread + $pu * THREADS) % 64u / 2u;
  @end
  @repeat(r, ROWS)
  @repeat(t, TOKENS)
  var sum$r_$t = 0.0;
  @end
  @end
  for (var base = 0u; base < ROW_VECTORS; base += 32u) {
    workgroupBarrier();
    @repeat(p, SHARE)
    inputs[place$p][sixteen$p] = input$p;
    @end
    workgroupBarrier();
    @repeat(r, ROWS)
    let w$r = decode(next$r);
    let scale$r = next_scale$r;
    @end
    // Past the end inputs are zeros, and any weight will do.
    let k = min(base + 32u + lane, ROW_VECTORS - 1u);
    @repeat(r, ROWS)
    next$r = fetch(row$r, k);
    next_scale$r = scale_of(row$r, k);
    @end
    @repeat(p, SHARE)
    input$p = input_at(token, base + 32u, thread + $pu * THREADS);
    @end
    @repeat(t, TOKENS)
    {
      let a = inputs[$t][lane];
      let b = inputs[$TOKENS + $t][lane];
      @repeat(r, ROWS)
      sum$r_$t = fma(dot16(w$r, a, b), scale$r, sum$r_$t);
      @end
    }
    @end
  }
  // Sums over the 32 threads, one row after the other: thread t adds up token t.
  let halves = WARPS / 2u;
  let base = id.y % halves * 33u * $TOKENSu;
  var total: array<f32, $ROWS>;
  @repeat(r, ROWS)
  @repeat(h, 2)
  if id.y / halves == $hu {
    @repeat(t, TOKENS)
    partial[base + $tu * 33u + lane] = sum$r_$t;
    @end
  }
  workgroupBarrier();
  if id.y / halves == $hu && lane < $TOKENSu {
    @repeat(i, 32)
    total[$r] += partial[base + lane * 33u + $iu];
    @end
  }
  workgroupBarrier();
  @end
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
