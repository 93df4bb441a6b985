/** The servers of a recording. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { createReplayedServers } from '../../../src/app/bridge/replayed-servers.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { readRecording } from '../../../src/record/recordings/index.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'replayed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

async function open() {
  const file = join(folder, 'a.jsonl');
  const tool = { name: 'read', description: 'Reads', inputSchema: {} };
  const lines = [
    { type: 'recording', version: 1, bridge: '1', at: '' },
    { type: 'server', name: 'files', description: 'Files', cwd: '/work', metadata: { tools: [tool], notices: [] } },
    { type: 'server', name: 'unasked', description: '' },
  ];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return createReplayedServers(await readRecording(file), folder, silentLogger);
}

it('are known from the recording alone', async () => {
  const { known, refresh } = await open();
  expect(refresh().map(({ name }) => name)).toEqual(['files', 'unasked']);
  const { signal } = new AbortController();
  const files = await known.find('files');
  expect((await known.tools(files, signal)).map(({ name }) => name)).toEqual(['read']);
  expect(known.workingDirectory(files)).toBe('/work');
  await expect(known.tools(await known.find('unasked'), signal)).rejects.toMatchObject({
    code: 'CALL_NOT_RECORDED',
    message: "the recording does not have the tools of server 'unasked'",
  });
});

it('leave the rules about packages in force', async () => {
  writeFileSync(join(folder, 'policy.json'), JSON.stringify({ packages: [{ effect: 'deny', package: 'evil' }] }));
  const { policies } = await open();
  expect(policies()?.ofPackage('evil', undefined)?.effect).toBe('deny');
});
