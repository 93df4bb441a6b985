/** Temporary folders that are removed when the benchmark ends, however it ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders = new Set<string>();

process.on('exit', () => folders.forEach(remove));

/** Passes `use` a new folder. */
export async function withFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-bench-'));
  folders.add(folder);
  try {
    return await use(folder);
  } finally {
    remove(folder);
  }
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}
