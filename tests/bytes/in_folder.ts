/** Runs `test` with a fresh folder that is removed afterwards. */
export async function inFolder(test: (folder: string) => Promise<void> | void): Promise<void> {
  const folder = Deno.makeTempDirSync();
  try {
    await test(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** The names in `folder`, sorted. */
export function namesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map((file) => file.name).sort();
}
