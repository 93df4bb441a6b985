// Tags: docker-release
/** A bridge whose server files would start the bridge again, in any disguise, ends instead of starting bridges forever. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, CLI, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const engines = await coverEngines();

describe.each(engines.slice(0, 1))('a bridge inside a bridge on $label', (engine) => {
  let bridge: BridgeClient;

  beforeAll(async () => {
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

  it('does not serve inside another bridge, and the error names what to remove', async () => {
    const answer = await bridge.runPython('await mcp_innocent.run_python(code="1")', { servers: ['innocent'] });
    expect(answer.isError).toBe(true);
    expect(answer.text).toContain('this bridge was started by another bridge (depth 1)');
  });
});
