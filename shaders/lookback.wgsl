// Which compressed id each lookback of a token hashes, and the n-grams' rolling products.
// Shared by the hash kernels. Products are 64 bits wide, as (low, high).

override LAYERS: u32;
override LOOKBACKS: u32; // the longest n-gram
override HEADS: u32;
override THREADS: u32; // threads of a workgroup, and its tokens

const DEAD = -1;

struct Batch {
  first: u32, // token the output starts with
  count: u32, // tokens to hash from there
  requests: u32,
  window_depth: u32,
  pad_id: u32,
  block_size: u32, // 0: no slot cache
  blocks: u32, // of each request
}

struct Token {
  id: i32, // DEAD where it takes no part
  position: u32, // saturated
}

@group(0) @binding(0) var<uniform> batch: Batch;
// Eight storage buffers with the output: as many as every device has.
@group(0) @binding(1) var<storage, read> tokens: array<Token>; // [T]
@group(0) @binding(2) var<storage, read> starts: array<u32>; // [R + 1]
@group(0) @binding(3) var<storage, read> window: array<i32>; // [R, depth], DEAD, or below it unknown
@group(0) @binding(4) var<storage, read> slots: array<i32>; // the slot cache
@group(0) @binding(5) var<storage, read> block_table: array<u32>; // [R, blocks]
@group(0) @binding(6) var<storage, read> multipliers: array<vec2<u32>>; // [layers, lookbacks]

var<workgroup> rolling: array<vec2<u32>, THREADS * (LOOKBACKS - 1u)>;

// The request a token belongs to: the last one that starts at or before it.
fn request_of(token: u32) -> u32 {
  var low = 0u;
  var high = batch.requests;
  while high - low > 1u {
    let middle = (low + high) / 2u;
    if starts[middle] <= token {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// A token before the chunk: `distance` before the one just ahead of it.
fn before(request: u32, distance: u32, position: u32) -> i32 {
  if distance < batch.window_depth {
    let known = window[request * batch.window_depth + distance];
    if known >= DEAD {
      return known;
    }
  }
  if batch.block_size == 0u {
    return i32(batch.pad_id);
  }
  let block = block_table[request * batch.blocks + position / batch.block_size];
  return slots[block * batch.block_size + position % batch.block_size];
}

fn product(id: u32, multiplier: vec2<u32>) -> vec2<u32> {
  let a = id & 0xffffu;
  let b = id >> 16u;
  let c = multiplier.x & 0xffffu;
  let d = multiplier.x >> 16u;
  let middle = a * d + ((a * c) >> 16u);
  let upper = b * c + (middle & 0xffffu);
  let carried = b * d + (middle >> 16u) + (upper >> 16u);
  return vec2(id * multiplier.x, carried + id * multiplier.y);
}

// Leaves in `rolling[ngram * THREADS + thread]` what the n-gram's columns reduce.
fn roll(number: u32, thread: u32, layer: u32) {
  if number >= batch.count {
    return;
  }
  let token = batch.first + number;
  let request = request_of(token);
  let position = tokens[token].position;
  let in_chunk = token - starts[request];
  var blocked = false;
  var value = vec2(0u);
  for (var back = 0u; back < LOOKBACKS; back++) {
    var source = DEAD;
    if !blocked && back <= position {
      if back <= in_chunk {
        source = tokens[token - back].id;
      } else {
        source = before(request, back - in_chunk - 1u, position - back);
      }
    }
    // Behind a dead token or the request's start everything is padding.
    blocked = source == DEAD;
    let id = select(u32(source), batch.pad_id, blocked);
    value ^= product(id, multipliers[layer * LOOKBACKS + back]);
    if back > 0u {
      rolling[(back - 1u) * THREADS + thread] = value;
    }
  }
}
