// Tags: anywhere, full
/** docs/policy.md is correct: its policy is accepted, and its commands and code print what it shows. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { readFences } from '../support/documented-samples.ts';

const DOCUMENT = 'docs/policy.md';
const [policy = ''] = readFences(DOCUMENT, 'json');
const servers = { notes: fixtureServer('guarded.mjs') };
const [engine] = await coverEngines();

/** The words after the name in `$ mcp-server-code-execution-mode policy … 'a b'`. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '').slice(2);
}

describe.each(engine === undefined ? [] : [engine])('docs/policy.md on $label', ({ env, ...rest }) => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'bridge-policy-'));
    writeFileSync(join(folder, 'policy.json'), policy);
    writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers: servers }));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(readFences(DOCUMENT, 'console'))('%s', async (fence) => {
    const [line = '', ...expected] = fence.split('\n');
    const printed = await new Promise<string>((resolve) => {
      const settings = { MCP_BRIDGE_STATE_DIR: folder, MCP_BRIDGE_LOG_LEVEL: 'WARNING' };
      execFile(process.execPath, [CLI, ...wordsOf(line)], { env: { ...env, ...settings } }, (_, stdout, stderr) => {
        // Log lines go to stderr, which is compared only if there is no other output.
        resolve(stdout === '' ? stderr : stdout);
      });
    });
    expect(realign(printed.replaceAll(folder, '~/MCPs'))).toEqual(realign(`${expected.join('\n')}\n`));
  });

  it('the code prints what is shown', async () => {
    const bridge = await startBridge({ engine: { env, ...rest }, servers: () => servers });
    writeFileSync(join(bridge.folder, 'policy.json'), policy);
    const [code = ''] = readFences(DOCUMENT, 'python');
    const { text } = await bridge.runPython(code, { servers: ['notes'] });
    expect(text).toBe(readFences(DOCUMENT, 'text')[0]);
    await bridge.close();
  });
});

/** Columns are as wide as their longest text, and the test's folder is longer than the one shown. */
function realign(text: string): string[] {
  return text.split('\n').map((row) => row.replaceAll(/ {2,}/g, '  '));
}
