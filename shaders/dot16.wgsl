// Sixteen weights times sixteen bf16 inputs. After bf16.wgsl and a weights file.

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
