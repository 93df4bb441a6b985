// Tags: docker-release
/** What a start loads and writes: clients start a bridge for every conversation, and discard many of them. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CLI } from '../support/bridge-client.ts';
import { type LoadedFile, loadedFiles } from '../support/loaded-files.ts';
import { LineClient } from './front-process.ts';

/**
 * 126 KB when this was written, 139 KB with the settings for Kubernetes and OAuth, 166 KB with the checks of what a client sends, which
 * begin with its first message, 154 KB without the table of clients. More is not forbidden, but should be a decision.
 */
const MAX_START_BYTES = 160_000;
/** What only a call needs: the SDK alone is 300 KB. */
const MIN_CALL_BYTES = 500_000;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'start-up-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const MODERN = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  },
};

async function listTools(client: LineClient): Promise<unknown[]> {
  await client.initialize();
  return (await client.request(1, 'tools/list')).result.tools;
}

/** Starts the built bridge without any engine, uses it, and closes its input. */
function filesOf(use: (client: LineClient) => Promise<void>, env: Record<string, string> = {}): Promise<LoadedFile[]> {
  return loadedFiles(async (recording) => {
    const client = new LineClient(CLI, { ...recording, MCP_BRIDGE_STATE_DIR: folder, PATH: folder, ...env });
    await use(client);
    client.child.stdin.end();
    expect(await client.exited).toEqual([0, null]);
  });
}

const sizeOf = (files: readonly LoadedFile[]): number => files.reduce((sum, { bytes }) => sum + bytes, 0);

describe('before the tools are listed', () => {
  test.each([
    ['after a handshake', listTools],
    ['without one', async (client: LineClient) => (await client.request(1, 'tools/list', MODERN)).result.tools],
  ])('%s, only the start is loaded, and nothing is written', async (_name, list) => {
    const files = await filesOf(async (client) => {
      expect(await list(client)).toMatchObject([{ name: 'run_python' }]);
    });
    expect(files.map(({ name }) => name)).toEqual(['start-up.js', 'cli.js']);
    expect(sizeOf(files)).toBeLessThan(MAX_START_BYTES);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('neither are the MCP SDK and zod loaded for other tools', async () => {
    const files = await filesOf(
      async (client) => {
        expect(await listTools(client)).toHaveLength(5);
      },
      { MCP_BRIDGE_TOOLS: 'run_python,execute_code,executer,sessions' },
    );
    expect(sizeOf(files)).toBeLessThan(2 * MAX_START_BYTES);
  });

  test('a call loads the rest, which shows that the files are seen', async () => {
    const files = await filesOf(async (client) => {
      await listTools(client);
      expect((await client.run(2, { code: 5 })).result.isError).toBe(true);
    });
    expect(sizeOf(files)).toBeGreaterThan(MIN_CALL_BYTES);
  });

  test('the rest is loaded in the background, too', async () => {
    const files = await filesOf(
      async (client) => {
        await listTools(client);
        await client.untilLog('Loaded what the first call needs.');
        expect((await client.request(2, 'ping')).result).toEqual({});
      },
      { MCP_BRIDGE_LOG_LEVEL: 'DEBUG' },
    );
    expect(sizeOf(files)).toBeGreaterThan(MIN_CALL_BYTES);
  });
});

/** Whether the Node that runs the tests has a compile cache (22.1 and newer). */
const hasCompileCache = execFileSync(process.execPath, ['-p', 'typeof module.enableCompileCache'])
  .toString()
  .startsWith('function');

describe('the compile cache', () => {
  const list = async (): Promise<void> => {
    const client = new LineClient(CLI, { MCP_BRIDGE_STATE_DIR: folder });
    expect(await listTools(client)).toHaveLength(1);
    client.child.stdin.end();
    await client.exited;
  };

  test.runIf(hasCompileCache)('is kept beside the other caches', async () => {
    mkdirSync(join(folder, '.cache'));
    await list();
    expect(readdirSync(join(folder, '.cache'))).toEqual(['compiled']);
  });

  test.runIf(!hasCompileCache)('is not needed by a Node that has none', async () => {
    mkdirSync(join(folder, '.cache'));
    await list();
    expect(readdirSync(join(folder, '.cache'))).toEqual([]);
  });
});
