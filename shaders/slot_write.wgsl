// Remembers a chunk's compressed ids in the slots of their tokens. One thread a token.
// A token whose slot a later token of the chunk takes too comes with slot -1.

struct Sizes {
  tokens: u32,
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> ids: array<i32>; // [T], -1 where dead
@group(0) @binding(2) var<storage, read> slot_of: array<i32>; // [T], negative for none
@group(0) @binding(3) var<storage, read_write> slots: array<i32>;

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let token = (group.x + group.y * groups.x) * 256u + thread;
  if token < sizes.tokens && slot_of[token] >= 0 {
    slots[slot_of[token]] = ids[token];
  }
}
