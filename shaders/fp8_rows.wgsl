// Eight codes of an fp8 row (e4m3fn, one ue8m0 byte for 32 of them) to bf16. A row is one record, its
// codes and then its scales, so that both are on the same page and mostly in the same lines.
// After the table's bindings: `records_at(chunk, pair of words)`.

override LANES: u32; // threads that share a row: head_dim / 8
override CHUNK_ROWS: u32; // rows in each buffer of the table
override STRIDE: u32; // bytes from one record to the next, a multiple of 8
override KEEPS_SUBNORMALS: bool; // whether the device widens subnormal halves exactly

struct Piece {
  codes: vec2<u32>,
  scale: u32,
}

// Piece `lane` of a row, counted from the first row of the buffers bound.
fn fetch(row: u32, lane: u32) -> Piece {
  let chunk = row / CHUNK_ROWS;
  let inside = row - chunk * CHUNK_ROWS;
  let record = inside * (STRIDE / 8u);
  let both = two_records_at(chunk, record + lane, record + LANES + lane / 32u);
  let word = select(both.z, both.w, lane % 32u >= 16u);
  return Piece(both.xy, (word >> (lane / 4u % 4u * 8u)) & 0xffu);
}

// Two codes' bits, at bits 20 and up of two words, to bf16. With 112 added to its exponent a code is
// a normal float32 whatever it is; `min` then mends the codes that were subnormal.
fn pair(first: u32, second: u32, signs: u32, factor: f32, least: f32) -> u32 {
  let a = bitcast<f32>((first & 0x07f00000u) | 0x38000000u) * factor;
  let b = bitcast<f32>((second & 0x07f00000u) | 0x38000000u) * factor;
  let low = bitcast<u32>(min(a, fma(2.0, a, -least)));
  let high = bitcast<u32>(min(b, fma(2.0, b, -least)));
  return (low >> 16u) | (high & 0x7fff0000u) | signs;
}

fn fast(word: u32, factor: f32, least: f32) -> vec2<u32> {
  if KEEPS_SUBNORMALS {
    // A code's bits in a half's place are its value * 2^-8.
    let even = unpack2x16float(((word & 0x007f007fu) << 7u) | ((word & 0x00800080u) << 8u)) * factor;
    let odd = unpack2x16float(((word & 0x7f007f00u) >> 1u) | (word & 0x80008000u)) * factor;
    return vec2(
      (bitcast<u32>(even.x) >> 16u) | (bitcast<u32>(odd.x) & 0xffff0000u),
      (bitcast<u32>(even.y) >> 16u) | (bitcast<u32>(odd.y) & 0xffff0000u),
    );
  }
  return vec2(
    pair(word << 20u, word << 12u, ((word << 8u) & 0x8000u) | ((word << 16u) & 0x80000000u), factor, least),
    pair(word << 4u, word >> 4u, ((word >> 8u) & 0x8000u) | (word & 0x80000000u), factor, least),
  );
}

// One code by integers alone: zero, infinite and far-off scales, and NaN.
fn slow(code: u32, scale: u32) -> u32 {
  let sign = (code & 0x80u) << 8u;
  let magnitude = code & 0x7fu;
  if magnitude == 0x7fu || (magnitude == 0u && scale == 255u) {
    return 0x7fffu;
  }
  if scale == 255u {
    return sign | 0x7f80u;
  }
  if magnitude == 0u || scale == 0u {
    return sign;
  }
  // significand * 2^(exponent - 136), the significand in [8, 16).
  var significand = magnitude & 7u;
  var exponent = i32(magnitude >> 3u);
  if exponent == 0 {
    exponent = 1;
    while significand < 8u {
      significand <<= 1u;
      exponent--;
    }
  } else {
    significand |= 8u;
  }
  // Biased exponent of a bf16 of value significand / 8 * 2^(exponent + scale - 134).
  let biased = exponent + i32(scale) - 7;
  if biased >= 255 {
    return sign | 0x7f80u;
  }
  if biased > 0 {
    return sign | (u32(biased) << 7u) | ((significand & 7u) << 4u);
  }
  // Subnormal: the significand (at bit 7) moves right, rounded to nearest even.
  let shift = u32(1 - biased);
  let wide = significand << 4u;
  let kept = wide >> shift;
  let rest = wide & ((1u << shift) - 1u);
  let half = 1u << (shift - 1u);
  let up = rest > half || (rest == half && (kept & 1u) == 1u);
  return sign | (kept + select(0u, 1u, up));
}

fn slow_pair(word: u32, shift: u32, scale: u32) -> u32 {
  return slow((word >> shift) & 0xffu, scale) | (slow((word >> (shift + 8u)) & 0xffu, scale) << 16u);
}

fn decode(piece: Piece) -> vec4<u32> {
  // A byte is NaN when its lower seven bits are all set.
  let nan = (((piece.codes & vec2(0x7f7f7f7fu)) + vec2(0x01010101u)) & vec2(0x80808080u));
  if piece.scale < 10u || piece.scale > 245u || (nan.x | nan.y) != 0u {
    return vec4(
      slow_pair(piece.codes.x, 0u, piece.scale),
      slow_pair(piece.codes.x, 16u, piece.scale),
      slow_pair(piece.codes.y, 0u, piece.scale),
      slow_pair(piece.codes.y, 16u, piece.scale),
    );
  }
  let factor = bitcast<f32>((piece.scale + 8u) << 23u);
  let least = bitcast<f32>((piece.scale - 6u) << 23u);
  return vec4(fast(piece.codes.x, factor, least), fast(piece.codes.y, factor, least));
}
