/** What the extra tools accept, refuse, ask of the bridge and answer. Real sandboxes are in `test/e2e/extra-tools.test.ts`. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { type CellAnswer, NO_OUTPUT } from '../../../src/core/base/cell.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { createLogger } from '../../../src/core/base/log.ts';
import type { ProgramRequest, ProgramResult } from '../../../src/core/base/program.ts';
import { type Bridge, LazyBridge } from '../../../src/core/session/lazy-bridge.ts';
import { FRONT_TOOLS, type FrontToolName } from '../../../src/edges/settings/front-tools.ts';
import { createFrontTools } from '../../../src/front/extra-tools/index.ts';
import type { FrontCall, FrontTool } from '../../../src/front/server/front-tool.ts';
import { ROOT } from '../../support/bridge-client.ts';

const notUsed = () => Promise.reject(new Error('not used'));
const RESULT: ProgramResult = {
  status: 'success',
  exitCode: 0,
  stdout: 'out',
  stderr: '',
  droppedBytes: 0,
  durationMs: 1,
  files: [],
};

async function open(names: readonly FrontToolName[] = FRONT_TOOLS, parts: Partial<Bridge> = {}) {
  const logged: string[] = [];
  const resets: string[] = [];
  const bridge = new LazyBridge(async () => ({
    runCell: notUsed,
    runProgram: notUsed,
    listServers: () => {
      throw new Error('not used');
    },
    keepAnswers: async () => undefined,
    listSessions: async () => [],
    async resetSession(name) {
      resets.push(name);
      return name === 'work';
    },
    describeEngine: async () => undefined,
    preload: async () => undefined,
    startSandboxesAhead: async () => undefined,
    preinstall: async () => undefined,
    startServersAhead: async () => undefined,
    close: async () => undefined,
    ...parts,
  }));
  const tools = createFrontTools(names, {
    bridge,
    outputMode: 'compact',
    maxOutputChars: 40_000,
    timeoutSeconds: 30,
    maxTimeoutSeconds: 120,
    logger: createLogger('DEBUG', (line) => logged.push(line)),
  });
  const call = async (name: string, given: unknown): Promise<FrontCall> => {
    const tool = tools.find(({ definition }) => definition.name === name);
    if (tool === undefined) {
      throw new Error(`no tool ${name}`);
    }
    return tool.call(given);
  };
  /** The message of the protocol error. */
  const refusal = async (name: string, given: unknown): Promise<string> => {
    const thrown = await call(name, given).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: -32602 });
    return (thrown as Error).message;
  };
  const answer = async (name: string, given: unknown) => {
    const own = await call(name, given);
    if (own.kind !== 'own') {
      throw new Error('is a cell');
    }
    return own.answer({});
  };
  return { answer, bridge, call, logged, refusal, resets, tools };
}

const namesOf = (tools: readonly FrontTool[]) => tools.map(({ definition }) => definition.name);

describe('the list', () => {
  it.each<[readonly FrontToolName[], readonly string[]]>([
    [['run_python'], ['run_python']],
    [
      ['sessions', 'run_python'],
      ['sessions', 'run_python'],
    ],
    [['executer'], ['start_code_executer', 'execute_code', 'stop_code_executer']],
    [
      ['execute_code', 'executer'],
      ['execute_code', 'start_code_executer', 'stop_code_executer'],
    ],
  ])('of %j', async (names, expected) => {
    expect(namesOf((await open(names)).tools)).toEqual(expected);
  });

  it('has the sizes that docs/extra-tools.md states', async () => {
    const rows = readFileSync(join(ROOT, 'docs/extra-tools.md'), 'utf8').matchAll(
      /^\| (?:`(\w+)`|all four) \|.*\| (\d+) \|$/gm,
    );
    const stated = [...rows].map(([, name, tokens]) => [name ?? FRONT_TOOLS.join(','), Number(tokens)] as const);
    const measured = [...FRONT_TOOLS.map((name) => [name]), FRONT_TOOLS].map(async (names) => {
      const { tools } = await open(names);
      const list = JSON.stringify(tools.map(({ definition }) => definition));
      return [names.join(','), encode(list).length] as const;
    });
    expect(stated).toEqual(await Promise.all(measured));
  });

  it('has one purpose for tools that belong together', async () => {
    const { tools } = await open(['executer']);
    expect(new Set(tools.map(({ purpose }) => purpose)).size).toBe(1);
  });
});

describe('execute_code as a program', () => {
  const JS = { language: 'javascript', entrypoint_code: 'console.log(1)' };

  it('asks the bridge for it', async () => {
    const requests: ProgramRequest[] = [];
    const { answer } = await open(['execute_code'], {
      async runProgram(request) {
        requests.push(request);
        return RESULT;
      },
    });
    const files = [
      { filename: 'a.txt', content: 'A' },
      { filename: 'lib/b.mjs', content: 'ä' },
    ];
    expect(
      await answer('execute_code', { ...JS, entrypoint_filename: 'app.mjs', additional_files: files, timeout: '7' }),
    ).toMatchObject({ content: [{ text: '--- stdout ---\nout\n--- stderr ---' }], isError: false });
    await answer('execute_code', { snippet_name: 'report', language: null });
    const others = { args: [], stdin: new Uint8Array(), wantsFiles: false };
    expect(requests).toEqual([
      {
        source: { kind: 'code', language: 'javascript', code: 'console.log(1)', fileName: 'app.mjs' },
        files: [
          { name: 'a.txt', content: Buffer.from('A') },
          { name: 'lib/b.mjs', content: Buffer.from('ä') },
        ],
        timeoutMs: 7000,
        ...others,
      },
      { source: { kind: 'snippet', name: 'report' }, files: [], timeoutMs: undefined, ...others },
    ]);
  });

  it.each<[Record<string, unknown>, string]>([
    [{}, '`snippet_name` is missing, and so are `language` and `entrypoint_code`.'],
    [{ language: 'go' }, '`entrypoint_code` is missing; `language` needs it.'],
    [{ entrypoint_code: 'x' }, '`language` is missing; `entrypoint_code` needs it.'],
    [{ ...JS, snippet_name: 's' }, '`snippet_name` and `language` cannot be combined: a snippet has its own code.'],
    [{ ...JS, language: 5 }, '`language` is 5; it must be a string.'],
    [{ ...JS, entrypoint_code: ' ' }, '`entrypoint_code` is blank.'],
    [{ ...JS, timeout: 500 }, '`timeout` is 500; it must be a whole number of seconds from 1 to 120.'],
    [
      { ...JS, files: [] },
      "There is no argument 'files'; allowed are code, language, entrypoint_code, entrypoint_filename, additional_files, snippet_name, timeout.",
    ],
    [
      { ...JS, code: 'x' },
      '`code` and `language` cannot be combined: `code` continues the session of the executer, `language` belongs to a program of its own.',
    ],
    [{ ...JS, additional_files: 'a' }, "`additional_files` is 'a'; it must be a list of files."],
    [{ ...JS, additional_files: [null] }, '`additional_files[0].filename` is undefined; it must be a string.'],
    [
      { ...JS, additional_files: [{ filename: 'a', content: 1 }] },
      '`additional_files[0].content` is 1; it must be a string.',
    ],
    [
      { ...JS, additional_files: [{ filename: '../a', content: '' }] },
      "`additional_files[0].filename` is '../a'; it must be a relative path of at most 200 characters without '..', ':' and '\\'.",
    ],
    [
      { ...JS, entrypoint_filename: 'a', additional_files: [{ filename: 'a', content: '' }] },
      "`additional_files` has 'a' twice, or it is the entry file.",
    ],
  ])('refuses %j', async (given, message) => {
    const { refusal } = await open();
    expect(await refusal('execute_code', given)).toContain(`ARGUMENT_INVALID: ${message}\nHint: `);
  });

  it.each(['/a', 'a//b', './a', 'a/..', 'C:\\a', 'a\nb', '', 'x'.repeat(201)])(
    'refuses the file %j',
    async (filename) => {
      const { refusal } = await open();
      const given = { ...JS, additional_files: [{ filename, content: '' }] };
      expect(await refusal('execute_code', given)).toContain('`additional_files[0].filename` is ');
    },
  );

  it('refuses an unknown language as the bridge does', async () => {
    const { answer } = await open(['execute_code'], {
      runProgram: () => Promise.reject(new BridgeError('USAGE_INVALID', "no language 'perl'", { hint: 'Use go.' })),
    });
    await expect(answer('execute_code', { language: 'perl', entrypoint_code: '1' })).rejects.toMatchObject({
      code: -32602,
      message: "USAGE_INVALID: no language 'perl'\nHint: Use go.",
    });
  });

  it('says why a program could not run, and logs a bug', async () => {
    const missing = await open(['execute_code'], {
      runProgram: () => Promise.reject(new BridgeError('IMAGE_MISSING', 'it is missing', { hint: 'pull it' })),
    });
    const { content, isError } = await missing.answer('execute_code', JS);
    expect(content[0].text).toBe('Execution Failed (error): IMAGE_MISSING: it is missing\nHint: pull it');
    expect([isError, missing.logged]).toEqual([true, []]);
    const broken = await open(['execute_code'], { runProgram: () => Promise.reject(new TypeError('a bug')) });
    await broken.answer('execute_code', JS);
    expect(broken.logged).toEqual([expect.stringMatching(/ERROR TypeError: a bug.*front-tools\.test/)]);
  });

  it('does not know `code` without the executer', async () => {
    const { refusal } = await open(['execute_code']);
    expect(await refusal('execute_code', { code: 'x' })).toContain("There is no argument 'code'");
  });
});

describe('the executer', () => {
  const ANSWER: CellAnswer = {
    status: 'success',
    stdout: NO_OUTPUT,
    stderr: NO_OUTPUT,
    servers: [],
    session: 'executer',
    timeoutSeconds: 30,
    notices: [],
  };
  const text = (head: string) => ({ head, droppedBytes: 0, droppedLines: 0, tail: '' });

  it('maps to cells of one session, which begins without state at each start and after each stop', async () => {
    const { answer, bridge, call, resets } = await open(['executer']);
    const cellOf = async (name: string, given: unknown) => {
      const front = await call(name, given);
      return front.kind === 'cell' ? front.cell : undefined;
    };
    expect(await answer('stop_code_executer', {})).toEqual({
      content: [{ type: 'text', text: 'Nothing was started.' }],
      structuredContent: { output: 'Nothing was started.', error: '', status: 'success' },
      isError: false,
    });
    expect(await cellOf('execute_code', { code: 'x' })).toEqual({
      given: { code: 'x', session: 'executer', timeout: undefined },
      isFresh: true,
    });
    expect(await cellOf('execute_code', { code: 'x', timeout: 3 })).toMatchObject({
      given: { timeout: 3 },
      isFresh: false,
    });
    expect(await cellOf('start_code_executer', {})).toMatchObject({
      given: { code: 'print("Started.")', timeout: 120 },
      isFresh: true,
    });
    expect(await cellOf('start_code_executer', { dependencies: ['numpy', 'pandas>=2'] })).toMatchObject({
      given: { code: 'print("Started, with", ", ".join(await runtime.install("numpy", "pandas>=2")))' },
      isFresh: true,
    });
    await bridge.get();
    expect((await answer('stop_code_executer', {})).content[0].text).toBe('Stopped.');
    expect(resets).toEqual(['executer']);
    expect(await cellOf('execute_code', { code: 'x' })).toMatchObject({ isFresh: true });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['execute_code', {}, '`code` is missing; it is the Python source to run, a string.'],
    ['execute_code', { code: 5 }, '`code` is 5; it must be a string.'],
    ['execute_code', { code: 'x', language: 'go' }, "There is no argument 'language'; allowed are code, timeout."],
    ['start_code_executer', { dependencies: 'numpy' }, "`dependencies` is 'numpy'; it must be a list of strings."],
    [
      'start_code_executer',
      { dependencies: ['a', 1] },
      '`dependencies[1]` is 1; it must be a string that is not blank.',
    ],
    ['stop_code_executer', { now: true }, "There is no argument 'now'; there are none."],
  ])('refuses %s %j', async (name, given, message) => {
    const { refusal } = await open(['executer']);
    expect(await refusal(name, given)).toContain(`ARGUMENT_INVALID: ${message}\nHint: `);
  });

  it('answers with output, error and status', async () => {
    const { call } = await open(['executer']);
    const front = await call('execute_code', { code: 'x' });
    const render = async (more: Partial<CellAnswer>) =>
      front.kind === 'cell' ? front.render({ ...ANSWER, ...more }) : undefined;
    expect(await render({ stdout: text('a\nb\n'), value: '3', stderr: text('warned\n') })).toEqual({
      content: [{ type: 'text', text: 'a\nb\n3\nstderr:\nwarned' }],
      structuredContent: { output: 'a\nb\n3', error: 'warned', status: 'success' },
      isError: false,
    });
    const error = { message: 'no', exception: 'ValueError', traceback: 'Traceback:\nValueError: no' };
    expect(await render({ status: 'error', error, notices: ['State was lost.'] })).toEqual({
      content: [{ type: 'text', text: 'status: error\nTraceback:\nValueError: no\nnotices:\nState was lost.' }],
      structuredContent: {
        output: '',
        error: 'Traceback:\nValueError: no',
        status: 'error',
        notices: ['State was lost.'],
      },
      isError: true,
    });
  });

  it('says if the session cannot be ended', async () => {
    const { answer, bridge } = await open(['executer'], { resetSession: () => Promise.reject(new Error('disk full')) });
    await bridge.get();
    expect(await answer('stop_code_executer', {})).toMatchObject({
      structuredContent: { error: 'The executer cannot be stopped: disk full', status: 'error' },
      isError: true,
    });
  });
});

describe('sessions', () => {
  const LIVE = [
    { name: 'a', engine: undefined, isBusy: true, cells: 0, servers: [], ageMs: undefined, idleMs: undefined },
    { name: 'work', engine: 'podman', isBusy: false, cells: 1, servers: ['x', 'y'], ageMs: 12_300, idleMs: 2_600 },
  ];

  it('are listed', async () => {
    const { answer, bridge } = await open(['sessions'], { listSessions: async () => LIVE });
    await bridge.get();
    expect(await answer('sessions', {})).toEqual({
      content: [
        {
          type: 'text',
          text: 'a: starting, busy, 0 cells, no servers\nwork: podman, 12 s old, idle for 3 s, 1 cell, servers x, y',
        },
      ],
      structuredContent: {
        sessions: [
          { name: 'a', engine: null, busy: true, cells: 0, servers: [], age_s: null, idle_s: null },
          { name: 'work', engine: 'podman', busy: false, cells: 1, servers: ['x', 'y'], age_s: 12, idle_s: 3 },
        ],
      },
      isError: false,
    });
  });

  it('are none before the bridge is used, and asking does not make it', async () => {
    const { answer, bridge } = await open(['sessions']);
    expect((await answer('sessions', { action: 'list' })).content[0].text).toBe('No session is live.');
    expect(await answer('sessions', { action: 'reset', session: 'x' })).toMatchObject({
      content: [{ text: "There is no session 'x'. No session is live." }],
      isError: true,
    });
    expect(await bridge.made()).toBeUndefined();
  });

  it('are reset by name', async () => {
    const { answer, bridge, resets } = await open(['sessions'], { listSessions: async () => LIVE });
    await bridge.get();
    expect(await answer('sessions', { action: 'reset', session: 'work' })).toEqual({
      content: [{ type: 'text', text: "The session 'work' was reset. Its next cell begins without state." }],
      structuredContent: { session: 'work', status: 'reset' },
      isError: false,
    });
    expect(await answer('sessions', { action: 'reset', session: 'other' })).toMatchObject({
      content: [{ text: "There is no session 'other'. Live: 'a', 'work'." }],
      isError: true,
    });
    expect(resets).toEqual(['work', 'other']);
  });

  it('are not reset if that fails', async () => {
    const { answer, bridge } = await open(['sessions'], { resetSession: () => Promise.reject(new Error('disk full')) });
    await bridge.get();
    expect(await answer('sessions', { action: 'reset', session: 'work' })).toMatchObject({
      content: [{ text: 'INTERNAL: disk full' }],
      isError: true,
    });
  });

  it.each<[Record<string, unknown>, string]>([
    [{ action: 'stop' }, "`action` is 'stop'; it must be list or reset."],
    [{ action: 1 }, '`action` is 1; it must be a string.'],
    [{ action: 'reset' }, '`session` is missing; it is the name of the session to reset.'],
    [{ session: 'work' }, '`session` is only for `action` reset.'],
    [{ action: 'reset', session: '../x' }, "`session` is '../x'; it must be a string of 1 to 64 letters"],
    [{ name: 'work' }, "There is no argument 'name'; allowed are action, session."],
  ])('refuse %j', async (given, message) => {
    expect(await (await open(['sessions'])).refusal('sessions', given)).toContain(`ARGUMENT_INVALID: ${message}`);
  });

  it('refuse what is no object', async () => {
    expect(await (await open(['sessions'])).refusal('sessions', [1])).toContain('The arguments are [1];');
  });
});
