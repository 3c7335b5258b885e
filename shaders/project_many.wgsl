// kv = wkv · rows for many tokens: a workgroup makes 128 x 128 outputs, 16 inputs at a time through
// workgroup memory; a thread makes 8 x 8 of them. Grid: blocks of outputs, then of tokens.
// After bf16.wgsl and a weights file; written out by `unroll`.

struct Sizes {
  tokens: u32,
  features: u32, // outputs of this weight
  first_word: u32, // where they start in a token's output, a multiple of 2
  out_words: u32, // words from one token's output to the next, a multiple of 2
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(3) var<storage, read> rows: array<vec2<u32>>; // bf16 [T, in]
@group(0) @binding(4) var<storage, read_write> out: array<vec2<u32>>; // bf16 [T, out_words * 2]

// [16 inputs, 128 outputs or tokens], four values a vector; a line is longer by one for the banks.
// Nested, because WGSL checks an index that is not a constant at every use: so only the inner one is.
var<workgroup> weight_tile: array<array<vec4<f32>, 33>, 16>;
var<workgroup> token_tile: array<array<vec4<f32>, 33>, 16>;

fn four_inputs(at: u32, quad: u32) -> vec4<f32> {
  let words = rows[at + quad];
  return vec4(first_of(words.x), second_of(words.x), first_of(words.y), second_of(words.y));
}

fn write(token: u32, feature: u32, sum: vec4<f32>) {
  if token < sizes.tokens && feature < sizes.features {
    let at = (token * sizes.out_words + sizes.first_word) / 2u + feature / 4u;
    out[at] = vec2(pack(sum.x, sum.y), pack(sum.z, sum.w));
  }
}

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let feature = group.x * 128u;
  let token = group.y * 128u;
  // Each thread loads a 4 x 4 square: half of them of weights, half of tokens.
  let loads_weights = thread < 128u;
  let quad = thread % 4u;
  let lines = thread % 128u / 4u;
  // Rows and tokens past the end repeat the last one, and are not written.
  @repeat(i, 4)
  let row$i = min(feature + lines * 4u + $iu, sizes.features - 1u);
  let source$i = min(token + lines * 4u + $iu, sizes.tokens - 1u) * ROW_EIGHTS * 2u + quad;
  @end
  let across = thread % 16u;
  let down = thread / 16u;
  // Four outputs each for eight tokens: left and right half of the block, its upper and lower half.
  @repeat(t, 4)
  var left$t = vec4(0.0);
  var right$t = vec4(0.0);
  var left_$t = vec4(0.0);
  var right_$t = vec4(0.0);
  @end
  for (var k = 0u; k < ROW_EIGHTS; k += 2u) {
    if loads_weights {
      @repeat(i, 4)
      let w$i = four_at(row$i, k * 2u + quad) * scale_of(row$i, k);
      @end
      @repeat(i, 4)
      weight_tile[quad * 4u + $iu][lines] = vec4(w0[$i], w1[$i], w2[$i], w3[$i]);
      @end
    } else {
      @repeat(i, 4)
      let x$i = four_inputs(source$i, k * 2u);
      @end
      @repeat(i, 4)
      token_tile[quad * 4u + $iu][lines] = vec4(x0[$i], x1[$i], x2[$i], x3[$i]);
      @end
    }
    workgroupBarrier();
    @repeat(i, 16)
    {
      let wa = weight_tile[$i][across];
      let wb = weight_tile[$i][16u + across];
      let ta = token_tile[$i][down];
      let tb = token_tile[$i][16u + down];
      @repeat(t, 4)
      left$t = fma(wa, vec4(ta[$t]), left$t);
      right$t = fma(wb, vec4(ta[$t]), right$t);
      @end
      @repeat(t, 4)
      left_$t = fma(wa, vec4(tb[$t]), left_$t);
      right_$t = fma(wb, vec4(tb[$t]), right_$t);
      @end
    }
    @end
    workgroupBarrier();
  }
  @repeat(t, 4)
  write(token + down * 4u + $tu, feature + across * 4u, left$t);
  write(token + down * 4u + $tu, feature + 64u + across * 4u, right$t);
  write(token + 64u + down * 4u + $tu, feature + across * 4u, left_$t);
  write(token + 64u + down * 4u + $tu, feature + 64u + across * 4u, right_$t);
  @end
}
