/** A home directory for the commands that a test starts, never that of the person who runs the tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** An empty folder, removed after the tests of the file that calls this. */
export function emptyHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'bridge-home-'));
  afterAll(() => rmSync(home, { recursive: true }));
  return home;
}
