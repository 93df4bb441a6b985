/** All tools of the real servers among the development dependencies. `npm run lab -- real-servers` covers many more. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkServer } from '../../real-servers/check-server.ts';
import { hasLocalPython } from '../../support/local-python.ts';
import { npmServer } from '../../support/upstream.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bridge-real-tools-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test.skipIf(!hasLocalPython()).each([
  ['server-everything', 13, []],
  ['server-filesystem', 14, [tmpdir()]],
  ['server-memory', 9, []],
])('every tool of %s is found, has a signature, and is called by its original name', async (name, count, words) => {
  const { command = '', args = [] } = npmServer(`@modelcontextprotocol/${name}`, ...words);
  const env = { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') };
  const report = await checkServer(name, { command, args, env, cwd: folder });
  expect(report).toMatchObject({ tools: count, foundFirst: count, faults: [] });
});
