/** A bridge that its own server files would start again, however disguised, ends instead of starting bridges for ever. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BridgeClient, CLI, startBridge } from '../support/bridge-client.ts';
import { findTestEngines } from '../support/engines.ts';

const { engines } = await findTestEngines();
const [engine] = engines;
let bridge: BridgeClient;

beforeAll(async () => {
  if (engine === undefined) {
    throw new Error('findTestEngines promises at least one');
  }
  bridge = await startBridge({
    engine,
    servers(folder) {
      const script = join(folder, 'innocent.mjs');
      writeFileSync(script, `await import(${JSON.stringify(pathToFileURL(CLI).href)});`);
      return {
        innocent: { command: process.execPath, args: [script] },
        plain: { command: 'npx', args: ['-y', 'mcp-server-code-execution-mode@latest'] },
      };
    },
  });
});
afterAll(() => bridge.close());

it('skips the entry that names it', async () => {
  expect((await bridge.runPython('runtime.discovered_servers()')).structured['result']).toBe("('innocent',)");
});

it('does not serve inside another bridge, and the error says what to remove', async () => {
  const answer = await bridge.runPython('await mcp_innocent.run_python(code="1")', { servers: ['innocent'] });
  expect(answer.isError).toBe(true);
  expect(answer.text).toContain('this bridge was started by another bridge (depth 1)');
});
