/** What is recorded, and how calls are answered from it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { createContext } from '../../../src/app/bridge/context.ts';
import { NO_OUTPUT } from '../../../src/core/base/cell.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { MAX_RECORDED_RESULT_BYTES } from '../../../src/core/base/limits.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { failed, succeeded, type ToolCall } from '../../../src/core/calls/contract.ts';
import { parseExact } from '../../../src/core/protocol/exact-json.ts';
import { createSecretMask } from '../../../src/features/secrets/index.ts';
import { Recording, readRecording } from '../../../src/record/recordings/index.ts';
import { showRecording } from '../../../src/record/recordings/run.ts';
import { begunCell, SUCCESS, watchedRun } from '../../support/watched-run.ts';

const SECRET = 'sk-canary-0123456789';
const RUN = { session: 'default', generation: 1, cell: 1 };

const ANSWER = {
  status: 'success',
  stdout: NO_OUTPUT,
  stderr: NO_OUTPUT,
  servers: [],
  session: 'default',
  timeoutSeconds: 1,
  notices: [],
} as const;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'recordings-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

function startRecording(into = folder): Recording {
  const server = { name: 'files', alias: 'files', description: 'Files' };
  const tool = { name: 'read', description: `Reads ${SECRET}`, inputSchema: {} };
  return new Recording({
    folder: into,
    instanceId: '0123456789',
    mask: createSecretMask(() => [SECRET]),
    servers: () => [{ server, cwd: '/work', metadata: { tools: [tool], notices: [] } }],
    logger: silentLogger,
  });
}

function callOf(given: Record<string, unknown>, tool = 'read'): ToolCall {
  return {
    server: { name: 'files', alias: 'files', description: '' },
    tool: { name: tool, alias: tool, inputSchema: {} },
    arguments: given,
    context: { ...RUN, call: 1, loaded: new Set(), signal: new AbortController().signal },
  };
}

/** Records calls, each with the outcome it gets, in one cell. */
async function record(...calls: readonly (readonly [given: Record<string, unknown>, outcome: unknown])[]) {
  const recording = startRecording();
  const run = watchedRun(recording.watch);
  const cell = run.begin(RUN, { code: 'x', servers: ['files'], timeoutMs: 30_000, session: 'default' });
  await Promise.all(
    calls.map(([given, outcome]) =>
      run.call(callOf(given), async () => (outcome instanceof Error ? failed(outcome) : succeeded(outcome))),
    ),
  );
  const stdout = { ...NO_OUTPUT, head: 'printed' };
  run.end(cell, { ...SUCCESS, stdout }, 1.5);
  await recording.close();
  const [name = ''] = readdirSync(folder);
  return join(folder, name);
}

it('records cells, calls and servers in a file that only the user can read', async () => {
  const file = await record([{ path: 'a' }, { content: [] }]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const replay = await readRecording(file);
  expect(replay.servers).toMatchObject([{ name: 'files', cwd: '/work', metadata: { tools: [{ name: 'read' }] } }]);
  expect(replay.cells).toMatchObject([
    {
      cell: { code: 'x', servers: ['files'], timeout_seconds: 30 },
      calls: [{ number: 1, call: 1, server: 'files', tool: 'read', arguments: { path: 'a' }, result: { content: [] } }],
      ended: { status: 'success', stdout: 'printed' },
    },
  ]);
});

it('masks secrets everywhere, and answers a call that names one masked', async () => {
  const file = await record([{ key: SECRET }, { text: `it is ${SECRET}` }]);
  expect(readFileSync(file, 'utf8')).not.toContain(SECRET);
  const { cells, answer } = await readRecording(file);
  const { key } = cells[0]?.calls[0]?.arguments ?? {};
  expect(await answer('files', 'read', { key })).toEqual({ text: expect.stringMatching(/^it is (?!sk-)/) });
});

it('answers the same call in the order in which it was recorded, whatever the order of its arguments', async () => {
  const file = await record([{ a: 1, b: 2 }, 'first'], [{ b: 2, a: 1 }, 'second']);
  const { answer } = await readRecording(file);
  expect(await answer('files', 'read', { b: 2, a: 1 })).toBe('first');
  expect(await answer('files', 'read', { a: 1, b: 2 })).toBe('second');
  await expect(answer('files', 'read', { a: 1, b: 2 })).rejects.toMatchObject({
    code: 'CALL_NOT_RECORDED',
    message: 'the recording has this call of files.read only 2 times',
  });
});

it('keeps numbers that JavaScript cannot hold', async () => {
  const file = await record([parseExact('{"id": 12345678901234567890}') as Record<string, unknown>, 'it']);
  const { answer } = await readRecording(file);
  const other = parseExact('{"id": 12345678901234567891}') as Record<string, unknown>;
  await expect(answer('files', 'read', other)).rejects.toMatchObject({ code: 'CALL_NOT_RECORDED' });
  expect(await answer('files', 'read', parseExact('{"id": 12345678901234567890}') as Record<string, unknown>)).toBe(
    'it',
  );
});

it('repeats errors with code, hint and data', async () => {
  const error = new BridgeError('POLICY_DENIED', 'no', { hint: 'Ask.', data: { tool: 'read' } });
  const { answer } = await readRecording(await record([{}, error]));
  await expect(answer('files', 'read', {})).rejects.toMatchObject({
    code: 'POLICY_DENIED',
    message: 'no',
    hint: 'Ask.',
    data: { tool: 'read' },
  });
});

it('names the nearest recorded call, or the tools that were called', async () => {
  const { answer } = await readRecording(await record([{ path: 'a', depth: 1 }, 1], [{ path: 'b', depth: 2 }, 2]));
  await expect(answer('files', 'read', { path: 'b', depth: 1, all: true })).rejects.toMatchObject({
    message: 'the recording has no call files.read(path="b", depth=1, all=true)',
    hint: 'The nearest is call 1: files.read(path="a", depth=1). It differs in: path, all.',
  });
  await expect(answer('files', 'write', {})).rejects.toMatchObject({
    message: 'the recording has no call of files.write',
    hint: 'It has calls of files.read.',
  });
});

it('leaves out a result that is too large, and says so when it is asked for', async () => {
  const file = await record([{}, { text: 'x'.repeat(MAX_RECORDED_RESULT_BYTES) }]);
  const { answer } = await readRecording(file);
  await expect(answer('files', 'read', {})).rejects.toMatchObject({
    code: 'CALL_NOT_RECORDED',
    message: expect.stringMatching(/^the result of files\.read is not in the recording: it had 16,777,\d{3} bytes$/),
  });
});

it('shows calls of background jobs after the cells', async () => {
  const recording = startRecording();
  const run = watchedRun(recording.watch);
  run.begin(RUN, { code: 'x', servers: [], timeoutMs: 1_000, session: 'default' });
  const call = callOf({ path: 'a' });
  await run.call({ ...call, context: { ...call.context, cell: 0, job: 'watch' } }, async () => succeeded('it'));
  await recording.close();
  const [name = ''] = readdirSync(folder);
  const { settings } = createContext({ MCP_BRIDGE_STATE_DIR: folder, MCP_BRIDGE_RECORD: folder });
  let out = '';
  const writeOut = (text: string): void => {
    out += text;
  };
  await showRecording({ command: 'record', path: undefined, isJson: false }, { settings, writeOut });
  expect(out).toMatch(new RegExp(`${name}: 1 cell, recorded from`));
  expect(out).toMatch(
    /cell default\/1\/1: no end recorded\n {2}\| x\n\nBackground jobs:\n {2}call 1: files\.read\(path="a"\) → "it" \(\d+ ms, job watch\)\n$/,
  );
  await expect(
    showRecording(
      { command: 'record', path: undefined, isJson: false },
      { settings: { ...settings, record: undefined }, writeOut },
    ),
  ).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    message: 'no recording is named, and MCP_BRIDGE_RECORD is not set',
  });
});

it('writes the tools of a server once, and again when they change', async () => {
  const recording = startRecording();
  const run = watchedRun(recording.watch);
  run.end(begunCell(RUN));
  run.end(begunCell(RUN));
  await recording.close();
  const lines = readFileSync(join(folder, readdirSync(folder)[0] ?? ''), 'utf8')
    .trimEnd()
    .split('\n');
  expect(lines.filter((line) => line.includes('"type":"server"'))).toHaveLength(1);
});

it('says once in an answer that nothing is recorded any more', async () => {
  const file = join(folder, 'a-file');
  writeFileSync(file, '');
  const recording = startRecording(file);
  watchedRun(recording.watch).begin(RUN, { code: 'x', servers: [], timeoutMs: 1, session: 'default' });
  await recording.close();
  expect(recording.withNotice(ANSWER).notices).toEqual([
    expect.stringMatching(/^Nothing more is recorded: .*cannot be written/),
  ]);
  expect(recording.withNotice(ANSWER).notices).toEqual([]);
});

// The rest went to a file without a name.
it('says so if someone removes the file', async () => {
  const recording = startRecording();
  watchedRun(recording.watch).begin(RUN, { code: 'x', servers: [], timeoutMs: 1, session: 'default' });
  await expect.poll(() => readdirSync(folder)).toHaveLength(1);
  rmSync(join(folder, readdirSync(folder)[0] ?? ''));
  watchedRun(recording.watch).begin(RUN, { code: 'y', servers: [], timeoutMs: 1, session: 'default' });
  await recording.close();
  expect(recording.withNotice(ANSWER).notices).toEqual([
    expect.stringMatching(/^Nothing more is recorded: .*cannot be written: it was removed\.$/),
  ]);
});

it('reads a recording whose bridge was killed in the middle of a line', async () => {
  const file = await record([{}, 'kept']);
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, `${text}{"type":"call","ses`);
  expect(await (await readRecording(file)).answer('files', 'read', {})).toBe('kept');
});

it.each([
  ['nothing', '', /its first line is not that of a recording/],
  ['no JSON', 'hello\n', /line 1 is not JSON/],
  ['a later version', '{"type":"recording","version":99,"bridge":"9","at":""}\n', /line 1 has version 99/],
  ['damage in the middle', '{"type":"recording","version":1,"bridge":"1","at":""}\nx\n{}\n', /line 2 is not JSON/],
])('refuses a file with %s', async (_, text, reason) => {
  const file = join(folder, 'bad.jsonl');
  writeFileSync(file, text);
  await expect(readRecording(file)).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    message: expect.stringMatching(reason),
  });
});
