// Tags: full, fresh
/** The tools of `MCP_BRIDGE_TOOLS`, with the built command, real clients of both SDKs and eras, and real sandboxes. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FRONT_TOOLS } from '../../src/edges/settings/front-tools.ts';
import { CAPABILITY_RESOURCE_URI } from '../../src/front/server/introduction.ts';
import { describeRunPython, MAX_DEFINITION_TOKENS } from '../../src/front/server/tool-definition.ts';
import { ERAS, startAskingBridge } from '../support/asking-bridge.ts';
import { fixtureServer } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';
import { connectTools, SDKS, type ToolClientOptions } from '../support/front-clients.ts';
import { type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { makeWheel } from '../support/wheels.ts';
import { type BuiltCommand, buildFakeCommand } from './front-process.ts';

const engines = await coverEngines();
const embedded = engines.filter(({ name }) => name === 'embedded');
const ALL = FRONT_TOOLS.join(',');

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
});

async function connect(engine: TestEngine, tools: string | undefined, more: Partial<ToolClientOptions> = {}) {
  const client = await connectTools({ sdk: 'SDK 2, 2025-11-25', engine, tools, ...more });
  open.push(client);
  return client;
}

/** Text, structured content and failure of an answer of the executer. */
const execution = (text: string, output: string, error = '', status = 'success') => ({
  text,
  structured: expect.objectContaining({ output, error, status }) as unknown,
  isError: status !== 'success',
});

// The engine is not used.
describe.each(embedded.slice(0, 1))('the front', (engine) => {
  let fake: BuiltCommand;
  beforeAll(async () => {
    fake = await buildFakeCommand();
  });
  afterAll(() => fake.remove());

  it('has one tool by default, of at most 200 tokens', async () => {
    const client = await connect(engine, undefined);
    const tools = await client.list();
    expect(tools).toEqual([describeRunPython(30, 120)]);
    expect(encode(JSON.stringify(tools)).length).toBeLessThanOrEqual(MAX_DEFINITION_TOKENS);
    expect(client.instructions()).toBe(
      'run_python is a live Python session that calls the other MCP servers of this user as code. ' +
        `The manual is ${CAPABILITY_RESOURCE_URI}, or runtime.capability_summary() inside.`,
    );
  });

  it.each(SDKS)('lists the tools in the order given, and names them in the instructions: %s', async (sdk) => {
    const client = await connect(engine, 'sessions,executer', { sdk });
    const names = ['sessions', 'start_code_executer', 'execute_code', 'stop_code_executer'];
    expect((await client.list()).map(({ name }) => name)).toEqual(names);
    expect(client.instructions()).toMatch(
      /^sessions lists and resets .*\. start_code_executer, execute_code and stop_code_executer run Python whose state persists\. The manual is /,
    );
    expect(client.instructions()).not.toContain('run_python');
    await expect(client.call('run_python', { code: '1' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(`Unknown tool: "run_python"; there are ${names.join(', ')}.`) as string,
    });
  });

  it.each(SDKS)('runs a program, and refuses invalid arguments with a protocol error: %s', async (sdk) => {
    const client = await connect(engine, ALL, { sdk, script: fake.script });
    const files = [{ filename: 'data.txt', content: '1' }];
    const given = { language: 'go', entrypoint_code: 'package main', additional_files: files };
    const request = '{"source":{"kind":"code","language":"go","code":"package main"},"files":["data.txt"]}';
    expect(await client.call('execute_code', given)).toEqual({
      text: `--- stdout ---\n${request}\n--- stderr ---`,
      structured: { status: 'success', exit_code: 0, stdout: `${request}\n`, stderr: '', duration_ms: 1 },
      isError: false,
    });
    expect(await client.call('execute_code', { language: 'wrong', entrypoint_code: 'x' })).toMatchObject({
      text: expect.stringMatching(/^Execution Failed \(error\): the program exited with code 3\n--- stdout ---\n/),
      isError: true,
    });
    expect(await client.call('execute_code', { language: 'slow', entrypoint_code: 'x' })).toMatchObject({
      text: expect.stringMatching(/^Execution Failed \(timeout\): the program was ended at its deadline/),
      structured: { status: 'timeout', exit_code: null },
      isError: true,
    });
    for (const [wrong, message] of [
      [{ language: 'go' }, '`entrypoint_code` is missing'],
      [{ entrypoint_code: 'x' }, '`language` is missing'],
      [{ snippet_name: 's', language: 'go' }, '`snippet_name` and `language` cannot be combined'],
      [{ code: '1', language: 'go' }, '`code` and `language` cannot be combined'],
      [{ language: 7, entrypoint_code: 'x' }, '`language` is 7'],
    ] as const) {
      await expect(client.call('execute_code', wrong)).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining(message) as string,
      });
    }
    expect(await client.call('execute_code', { code: 'print kept' })).toEqual(execution('kept', 'kept'));
    expect(await client.call('run_python', { code: 'print also' })).toMatchObject({ text: 'also' });
  });
});

describe.each(engines)('on $label', (engine) => {
  it('starts, executes with state, and stops', async () => {
    const client = await connect(engine, 'executer');
    expect(await client.call('stop_code_executer')).toEqual(execution('Nothing was started.', 'Nothing was started.'));
    expect(await client.call('start_code_executer')).toMatchObject({ structured: { output: 'Started.' } });
    expect(await client.call('execute_code', { code: 'total = 40\ntotal' })).toEqual(execution('40', '40'));
    expect(await client.call('execute_code', { code: 'total += 2\nprint(total)' })).toEqual(execution('42', '42'));
    const failed = await client.call('execute_code', { code: 'print("before")\n1 / 0' });
    expect(failed).toMatchObject({ isError: true, structured: { output: 'before', status: 'error' } });
    expect((failed.structured as { error: string }).error).toMatch(/ZeroDivisionError: division by zero$/);
    expect(await client.call('execute_code', { code: 'total' })).toEqual(execution('42', '42'));
    expect(await client.call('execute_code', { code: 'while True: pass', timeout: 1 })).toMatchObject({
      isError: true,
      structured: { status: 'timeout' },
    });
    expect(await client.call('execute_code', { code: 'total' })).toEqual(execution('42', '42'));
    expect(await client.call('stop_code_executer')).toEqual(execution('Stopped.', 'Stopped.'));
    const gone = await client.call('execute_code', { code: 'total' });
    expect((gone.structured as { error: string }).error).toMatch(/NameError: name 'total' is not defined/);
    expect(gone.structured).not.toHaveProperty('notices');
  });

  it('lists sessions and resets one, even while its code runs', async () => {
    const client = await connect(engine, 'run_python,sessions');
    expect(await client.call('sessions')).toMatchObject({ text: 'No session is live.', structured: { sessions: [] } });
    await client.call('run_python', { code: 'x = 1' });
    const running = client.call('run_python', { code: 'while True: pass', session: 'busy', timeout: 120 });
    await until(async () => (await client.call('sessions')).text.includes('busy: ' + engine.name));
    expect(await client.call('sessions', { action: 'list' })).toMatchObject({
      structured: {
        sessions: [
          { name: 'busy', engine: engine.name, busy: true, cells: 1, servers: [], idle_s: null },
          { name: 'default', engine: engine.name, busy: false, cells: 1, servers: [] },
        ],
      },
    });
    expect(await client.call('sessions', { action: 'reset', session: 'busy' })).toMatchObject({
      structured: { session: 'busy', status: 'reset' },
    });
    expect((await running).text).toContain('it was reset');
    await client.call('sessions', { action: 'reset', session: 'default' });
    expect((await client.call('run_python', { code: 'x' })).text).toContain("name 'x' is not defined");
    expect(await client.call('sessions', { action: 'reset', session: 'other' })).toMatchObject({
      text: "There is no session 'other'. Live: 'default'.",
      isError: true,
    });
  });
});

/** Asks again until it is so; the runner limits how long. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) {
    // Each question is a request of its own.
  }
}

describe.each(embedded)('the executer', (engine) => {
  it.each(SDKS)('works with a client of %s', async (sdk) => {
    const client = await connect(engine, ALL, { sdk });
    await client.call('start_code_executer');
    await client.call('execute_code', { code: 'words = "to be or not".split()' });
    expect(await client.call('execute_code', { code: 'len(words)' })).toEqual(execution('4', '4'));
    expect(await client.call('stop_code_executer')).toEqual(execution('Stopped.', 'Stopped.'));
  });

  it.each(ERAS)('lets the person decide about calls of its code: %s', async (era) => {
    const asked: string[] = [];
    const bridge = await startAskingBridge({
      engine,
      era,
      servers: { echo: fixtureServer('echo.mjs') },
      policy: { rules: [{ effect: 'ask', server: 'echo', tool: 'echo' }] },
      env: { MCP_BRIDGE_TOOLS: 'executer', MCP_BRIDGE_AUTOLOAD: '1' },
      person({ message }) {
        asked.push(message);
        return asked.length === 1 ? { action: 'accept', content: { answer: 'Allow once' } } : { action: 'decline' };
      },
    });
    open.push(bridge);
    const code = 'await mcp_echo.echo(text="hi")';
    const tool = { tool: 'execute_code' };
    expect(await bridge.run(code, {}, tool)).toContain('hi');
    expect(await bridge.run(code, {}, tool)).toContain('APPROVAL_DENIED');
    expect(asked).toEqual([expect.stringContaining("Code in session 'executer'"), expect.any(String)]);
  });

  it('continues nothing of an earlier bridge', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bridge-tools-'));
    try {
      for (const code of ['left = 1', '"left" in globals()']) {
        const client = await connectTools({ sdk: 'SDK 1', engine, tools: 'executer', folder });
        const { structured } = await client.call('execute_code', { code });
        expect(structured).toEqual({ output: code === 'left = 1' ? '' : 'False', error: '', status: 'success' });
        await client.close();
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  describe('with packages', () => {
    let index: PackageIndex;
    beforeAll(async () => {
      index = await startPackageIndex({ hasPip: false });
      index.add(makeWheel({ name: 'tiny-pkg', version: '2.0' }));
    });
    afterAll(() => index.close());
    const environment = (mode: string) => ({
      MCP_BRIDGE_PACKAGES: mode,
      MCP_BRIDGE_PACKAGES_STORE: `bridge-test-packages-${randomUUID().slice(0, 8)}`,
      PIP_INDEX_URL: index.url,
      PIP_CONFIG_FILE: '/dev/null',
      UV_NO_CONFIG: '1',
    });

    it('installs what it starts with', async () => {
      const client = await connect(engine, 'executer', { env: environment('any') });
      expect(await client.call('start_code_executer', { dependencies: ['tiny-pkg>=2'] })).toEqual(
        execution('Started, with tiny-pkg==2.0', 'Started, with tiny-pkg==2.0'),
      );
      const code = 'import tiny_pkg\ntiny_pkg.version';
      expect(await client.call('execute_code', { code })).toEqual(execution("'2.0'", "'2.0'"));
    });

    it('says why it did not start', async () => {
      const client = await connect(engine, 'executer', { env: environment('off') });
      const { structured, isError } = await client.call('start_code_executer', { dependencies: ['tiny-pkg'] });
      expect(isError).toBe(true);
      expect(structured).toMatchObject({ status: 'error', error: expect.stringContaining('MCP_BRIDGE_PACKAGES') });
    });
  });
});
