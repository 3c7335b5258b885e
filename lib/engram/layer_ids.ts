/** One layer's row numbers [tokens, columns] out of all layers' [tokens, layers, columns]. */
export function layerIds(
  hashed: Int32Array,
  layer: number,
  layers: number,
  columns: number,
): Int32Array {
  const tokens = hashed.length / (layers * columns);
  const ids = new Int32Array(tokens * columns);
  for (let token = 0; token < tokens; token++) {
    const at = (token * layers + layer) * columns;
    ids.set(hashed.subarray(at, at + columns), token * columns);
  }
  return ids;
}
