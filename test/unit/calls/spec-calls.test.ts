import { describe, expect, test } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { checkParams } from '../../../src/core/calls/method.ts';
import { createObservedResults } from '../../../src/core/calls/observed-results.ts';
import { specMethod } from '../../../src/core/calls/spec-calls.ts';
import type { ServerDirectory } from '../../../src/core/directory/server-directory.ts';

const SERVER = { name: 'files', alias: 'files', description: '' };
const TOOLS = [
  {
    name: 'read-file',
    alias: 'read_file',
    description: 'Read a file',
    inputSchema: { properties: { 'from-line': {}, path: {} } },
  },
  { name: 'List', alias: 'List', description: 'List a directory', inputSchema: { type: 'object' } },
];

let refreshed = 0;
const directory = {
  refresh: async () => {
    refreshed += 1;
    return { tools: [], notices: [] };
  },
  find: async () => SERVER,
  definitionKey: () => 'key',
  whyHidden: (_: unknown, wanted?: string) =>
    wanted === 'wipe' ? new BridgeError('POLICY_DENIED', 'files.wipe was not called', { hint: 'Ask.' }) : undefined,
  tools: async () => TOOLS,
} satisfies Partial<ServerDirectory> as unknown as ServerDirectory;

async function ask(params: Record<string, unknown>): Promise<unknown> {
  const [, wanted] = specMethod(directory, createObservedResults());
  return wanted.run(checkParams(wanted, params), {
    session: 'default',
    generation: 1,
    cell: 1,
    call: 1,
    loaded: new Set(),
    signal: new AbortController().signal,
  });
}

describe('tool_specs', () => {
  test('gives one spec for each name, in order, loaded or not; null for an unknown tool', async () => {
    expect(await ask({ server: 'files', tools: ['LIST', 'nope', 'read_file'] })).toMatchObject([
      { name: 'List', alias: 'List', open: true, signature: 'List(**kwargs)' },
      null,
      { name: 'read-file', parameters: [{ name: 'from-line', alias: 'from_line' }, { name: 'path' }] },
    ]);
  });

  test('has signature, description and parameters as text, and the signature as a hint', async () => {
    const text = "read_file(from_line=..., path=...)\n\nRead a file\n\nParameters:\n  from_line ('from-line')\n  path";
    expect(await ask({ server: 'files', tools: ['read_file'] })).toMatchObject([
      { text, hint: 'The signature is read_file(from_line=..., path=...).' },
    ]);
  });

  test('has the error of a call instead of a spec for a tool that a policy hides', async () => {
    expect(await ask({ server: 'files', tools: ['wipe'] })).toEqual([
      { refused: { code: 'POLICY_DENIED', message: 'files.wipe was not called', hint: 'Ask.' } },
    ]);
  });

  test('asks the running server on request', async () => {
    await ask({ server: 'files', tools: ['list'] });
    expect(refreshed).toBe(0);
    await ask({ server: 'files', tools: ['list'], fresh: true });
    expect(refreshed).toBe(1);
  });

  test('refuses long lists', async () => {
    const tools = Array.from({ length: 201 }, () => 'a');
    await expect(ask({ server: 'files', tools })).rejects.toMatchObject({ code: 'CALL_REFUSED' });
    await expect(ask({ server: 'files', tools: [] })).rejects.toMatchObject({ code: 'CALL_REFUSED' });
  });
});
