// kv = wkv · rows for up to TOKENS tokens: a thread adds up TILES pairs of neighbouring
// outputs for all of the tokens. 32 threads have 32 pairs beside each other, so that weights are read
// once and in order and every input, widened in workgroup memory, is one read for all of them.
// Grid: outputs, slices of the inputs, which project_sum.wgsl adds up.
// After bf16.wgsl and a weights file; written out by `unroll`.

override SLICE: u32; // eights of inputs that a workgroup adds up, an even number
override CHUNK: u32; // eights of inputs in workgroup memory at a time, likewise

struct Sizes {
  token: u32, // the first
  tokens: u32, // the end of them
  features: u32, // outputs of this weight
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(3) var<storage, read> rows: array<vec4<u32>>; // bf16 [T, in]
@group(0) @binding(4) var<storage, read_write> sums: array<vec2<f32>>; // [slice, token, pair]

// Whether a scale goes to the sum of products that share it instead of to each weight: that is as
// many multiplications as tokens.
const LATE: bool = $TOKENS <= 8;

// [four inputs, token]. Nested, because WGSL checks an index that is not a constant at every use: so
// only the outer one is.
var<workgroup> inputs: array<array<vec4<f32>, $TOKENS>, 2u * CHUNK>;

@compute @workgroup_size(32, $WARPS)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_id) id: vec3<u32>,
) {
  let lane = id.x;
  let thread = id.x + 32u * id.y;
  let tile = (group.x * $WARPSu + id.y) * $TILESu;
  let first = group.y * SLICE;
  let end = min(first + SLICE, ROW_EIGHTS);
  // Outputs and tokens past the end repeat the last ones, and are not written.
  @repeat(p, TILES)
  let tile$p = min(tile + $pu, (sizes.features - 1u) / 64u);
  let row$p = tile$p * 64u + 2u * lane;
  @repeat(s, 2)
  var next$p_$s = fetch(tile$p, first + $su, lane);
  @end
  var next_scale$p = scale_of(row$p, first);
  @repeat(t, TOKENS)
  var sum$p_$t = vec2(0.0);
  @end
  @end
  for (var base = first; base < end; base += CHUNK) {
    let count = min(CHUNK, end - base);
    workgroupBarrier();
    for (var at = thread; at < $TOKENSu * count; at += 4u * 32u * $WARPSu) {
      @repeat(i, 4)
      let token$i = (at + $iu * 32u * $WARPSu) % $TOKENSu;
      let eight$i = min((at + $iu * 32u * $WARPSu) / $TOKENSu, count - 1u);
      let x$i = rows[min(sizes.token + token$i, sizes.tokens - 1u) * ROW_EIGHTS + base + eight$i];
      @end
      @repeat(i, 4)
      inputs[2u * eight$i][token$i] =
        vec4(first_of(x$i.x), second_of(x$i.x), first_of(x$i.y), second_of(x$i.y));
      inputs[2u * eight$i + 1u][token$i] =
        vec4(first_of(x$i.z), second_of(x$i.z), first_of(x$i.w), second_of(x$i.w));
      @end
    }
    workgroupBarrier();
    for (var k = 0u; k < count; k += 2u) {
      // The next weights are on the way meanwhile.
      let ahead = min(base + k + 2u, end - 2u);
      @repeat(p, TILES)
      let scale$p = next_scale$p;
      next_scale$p = scale_of(row$p, ahead);
      @repeat(s, 2)
      let raw$p_$s = next$p_$s;
      next$p_$s = fetch(tile$p, ahead + $su, lane);
      @end
      @repeat(t, TOKENS)
      var part$p_$t = select(sum$p_$t, vec2(0.0), LATE);
      @end
      @end
      @repeat(s, 2)
      @repeat(q, 2)
      {
        @repeat(p, TILES)
        let even$p = even_of(raw$p_$s, $qu) * select(scale$p, 1.0, LATE);
        let odd$p = odd_of(raw$p_$s, $qu) * select(scale$p, 1.0, LATE);
        @end
        @repeat(t, TOKENS)
        {
          let x = inputs[2u * (k + $su) + $qu][$t];
          @repeat(p, TILES)
          @repeat(i, 4)
          part$p_$t = fma(vec2(even$p[$i], odd$p[$i]), vec2(x[$i]), part$p_$t);
          @end
          @end
        }
        @end
      }
      @end
      @end
      @repeat(p, TILES)
      @repeat(t, TOKENS)
      sum$p_$t = select(part$p_$t, fma(part$p_$t, vec2(scale$p), sum$p_$t), LATE);
      @end
      @end
    }
  }
  let pairs = (sizes.features + 1u) / 2u;
  let count = sizes.tokens - sizes.token;
  @repeat(p, TILES)
  let pair$p = (tile + $pu) * 32u + lane;
  @repeat(t, TOKENS)
  if $tu < count && pair$p < pairs {
    sums[(group.y * count + $tu) * pairs + pair$p] = sum$p_$t;
  }
  @end
  @end
}
