/** File name of a rank's shard: `engram-rank-00000-of-00004.safetensors`. */
export function shardName(rank: number, ranks: number): string {
  const five = (n: number) => String(n).padStart(5, "0");
  return `engram-rank-${five(rank)}-of-${five(ranks)}.safetensors`;
}

/** Rank and ranks of a shard's file name; null for any other name. */
export function parseShardName(name: string): { rank: number; ranks: number } | null {
  const match = /^engram-rank-(\d{5,})-of-(\d{5,})\.safetensors$/.exec(name);
  if (!match) return null;
  const rank = Number(match[1]);
  const ranks = Number(match[2]);
  return shardName(rank, ranks) === name && rank < ranks ? { rank, ranks } : null;
}
