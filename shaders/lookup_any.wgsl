// Rows of any encoding and width to bf16, by integers: one thread writes one word (two bf16).
// A row is one record: its codes, then its scales.
// After bf16.wgsl and the table's bindings: `records_at(chunk, word)`.

override KIND: u32; // 0 fp8, 1 int8, 2 bf16, 3 f16, 4 f32
override HEAD_DIM: u32;
override CHUNK_ROWS: u32; // rows in each buffer of the table
override CODE_BYTES: u32; // of a row
override STRIDE: u32; // bytes from one record to the next, a multiple of 4

struct Sizes {
  values: u32, // T * local columns * head_dim
  columns: u32, // of the ids
  local: u32, // columns served
  row_start: u32, // global number of the first row held
  rows: u32, // rows held
  first: u32, // rows held here: [first, end)
  end: u32,
  zeros: u32, // 1: rows held nowhere are written as zeros
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> ids: array<u32>; // [T, columns]
@group(0) @binding(2) var<storage, read> local: array<u32>; // columns to serve
@group(0) @binding(3) var<storage, read_write> out: array<u32>; // [T, local, head_dim]

const SKIP = 0x10000u;

fn byte_at(chunk: u32, at: u32) -> u32 {
  return (records_at(chunk, at / 4u) >> (at % 4u * 8u)) & 0xffu;
}

fn half_at(chunk: u32, at: u32) -> u32 {
  return byte_at(chunk, at) | (byte_at(chunk, at + 1u) << 8u);
}

// A word at any byte: codes of an odd width leave scales where they end.
fn word_at(chunk: u32, at: u32) -> u32 {
  return half_at(chunk, at) | (half_at(chunk, at + 2u) << 16u);
}

// significand * 2^(exponent - 149) as float32 bits rounded to nearest even; 1 <= significand < 2^32.
fn to_float(sign: u32, significand: u32, exponent: i32) -> u32 {
  let zeros = countLeadingZeros(significand);
  // The significand's top bit is at 31 - zeros; a float32 wants it at 23 and its exponent above 0.
  let biased = exponent + 9 - i32(zeros);
  var shift = 8 - i32(zeros);
  if biased < 1 {
    shift += 1 - biased;
  }
  var bits: u32;
  if shift <= 0 {
    bits = significand << u32(-shift);
  } else if shift > 32 {
    return sign;
  } else {
    let kept = select(significand >> u32(shift), 0u, shift == 32);
    let half = 1u << u32(shift - 1);
    let rest = select(significand & ((1u << u32(shift)) - 1u), significand, shift == 32);
    bits = kept + select(0u, 1u, rest > half || (rest == half && (kept & 1u) == 1u));
  }
  // A significand with its top bit adds one to the exponent field, hence biased - 1.
  if biased >= 1 {
    if biased >= 255 {
      return sign | 0x7f800000u;
    }
    bits += u32(biased - 1) << 23u;
  }
  return sign | min(bits, 0x7f800000u);
}

fn fp8(code: u32, scale: u32) -> u32 {
  let sign = (code & 0x80u) << 24u;
  let magnitude = code & 0x7fu;
  if magnitude == 0x7fu || (magnitude == 0u && scale == 255u) {
    return 0x7fffffffu;
  }
  if scale == 255u {
    return sign | 0x7f800000u;
  }
  if magnitude == 0u || scale == 0u {
    return sign;
  }
  // Value: significand * 2^(max(exponent, 1) - 10) * 2^(scale - 127).
  let exponent = magnitude >> 3u;
  let significand = select(8u, 0u, exponent == 0u) | (magnitude & 7u);
  return to_float(sign, significand, i32(max(exponent, 1u) + scale) - 10 - 127 + 149);
}

fn int8(code: u32, scale: u32) -> u32 {
  let negative = code >> 7u;
  let magnitude = select(code, 256u - code, negative == 1u);
  let sign = (scale & 0x80000000u) ^ (negative << 31u);
  let exponent = (scale >> 23u) & 0xffu;
  let mantissa = scale & 0x7fffffu;
  if exponent == 255u {
    return select(sign | 0x7f800000u, 0x7fffffffu, mantissa != 0u || magnitude == 0u);
  }
  let significand = (select(0x800000u, 0u, exponent == 0u) | mantissa) * magnitude;
  if significand == 0u {
    return sign;
  }
  return to_float(sign, significand, i32(max(exponent, 1u)) - 1);
}

fn half(bits: u32) -> u32 {
  let sign = (bits & 0x8000u) << 16u;
  let exponent = (bits >> 10u) & 31u;
  let mantissa = bits & 0x3ffu;
  if exponent == 31u {
    return sign | 0x7f800000u | (mantissa << 13u);
  }
  if exponent > 0u {
    return sign | ((exponent + 112u) << 23u) | (mantissa << 13u);
  }
  if mantissa == 0u {
    return sign;
  }
  return to_float(sign, mantissa, 149 - 24);
}

// The bf16 of output value `at`, or SKIP where another dispatch writes it.
fn value(at: u32) -> u32 {
  if at >= sizes.values {
    return 0u;
  }
  let row_out = at / HEAD_DIM;
  let i = at % HEAD_DIM;
  let column = local[row_out % sizes.local];
  var row = 0xffffffffu;
  if column < sizes.columns {
    // A foreign or negative id wraps to a large number.
    row = ids[row_out / sizes.local * sizes.columns + column] - sizes.row_start;
  }
  if row >= sizes.rows {
    return select(SKIP, 0u, sizes.zeros == 1u);
  }
  if row < sizes.first || row >= sizes.end {
    return SKIP;
  }
  let chunk = (row - sizes.first) / CHUNK_ROWS;
  let inside = (row - sizes.first) % CHUNK_ROWS;
  let codes = inside * STRIDE;
  let scales = codes + CODE_BYTES;
  switch KIND {
    case 0u: {
      return narrow(fp8(byte_at(chunk, codes + i), byte_at(chunk, scales + i / 32u)));
    }
    case 1u: {
      return narrow(int8(byte_at(chunk, codes + i), word_at(chunk, scales + i / 32u * 4u)));
    }
    case 2u: {
      return half_at(chunk, codes + 2u * i);
    }
    case 3u: {
      return narrow(half(half_at(chunk, codes + 2u * i)));
    }
    default: {
      return narrow(word_at(chunk, codes + 4u * i));
    }
  }
}

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let word = (group.x + group.y * groups.x) * 256u + thread;
  if 2u * word >= sizes.values {
    return;
  }
  let first = value(2u * word);
  let second = value(2u * word + 1u);
  // A word belongs to one thread, but its halves may come from rows of two dispatches.
  var kept = 0u;
  if first == SKIP || second == SKIP {
    kept = out[word];
  }
  let low = select(first, kept & 0xffffu, first == SKIP);
  let high = select(second, kept >> 16u, second == SKIP);
  out[word] = low | (high << 16u);
}
