/** Which files of the built program a process has loaded, from the coverage that Node records for all of them. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface LoadedFile {
  readonly name: string;
  readonly bytes: number;
}

/** Runs a process to its end with an environment that makes Node record. Resolves with the files that it loaded, largest first. */
export async function loadedFiles(run: (env: Record<string, string>) => Promise<void>): Promise<LoadedFile[]> {
  const folder = mkdtempSync(join(tmpdir(), 'loaded-'));
  try {
    await run({ NODE_V8_COVERAGE: folder });
    return readdirSync(folder)
      .flatMap((name) => scriptsIn(readFileSync(join(folder, name), 'utf8')))
      .map((path) => ({ name: basename(path), bytes: statSync(path).size }))
      .toSorted((a, b) => b.bytes - a.bytes);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function scriptsIn(coverage: string): string[] {
  const { result } = JSON.parse(coverage) as { readonly result: readonly { readonly url: string }[] };
  return result.flatMap(({ url }) => (url.startsWith('file:') ? fileURLToPath(url) : []));
}
