import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Logger } from '../../../src/core/base/log.ts';
import { createCurrentPolicies, type PolicyOwner } from '../../../src/features/policy/current-policies.ts';
import { countCall } from '../../../src/features/policy/rules/limits.ts';

const SERVER = { name: 'files', alias: 'files' };
const CALL = { server: SERVER, tool: { name: 'write', alias: 'write', inputSchema: {} }, arguments: {} };

let folder: string;
let file: string;
let lines: string[];
let nowMs: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bridge-policy-'));
  file = join(folder, 'policy.json');
  lines = [];
  nowMs = 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const NO_OWNERS: ReadonlyMap<string, PolicyOwner> = new Map();

function start(owners = () => NO_OWNERS, stateDir = folder, countedFor?: object) {
  const note = (line: string) => {
    lines.push(line);
  };
  const logger: Logger = { debug: note, info: note, warning: note, error: note, daily: note };
  return createCurrentPolicies({ stateDir, definitions: owners, logger, countedFor, nowMs: () => nowMs });
}

/** Moves the clock past the interval between checks of the file. */
function later(ms = 1_000): void {
  nowMs += ms;
}

it('without policy.json and without policies in entries, there are no policies', () => {
  expect(start()()).toBeUndefined();
  expect(lines).toEqual([]);
});

// `callsPerMinute` counted once for each profile.
it('what is counted for one principal is counted together, but calls of a cell are not', async () => {
  const limit = { server: SERVER.name, callsPerMinute: 2, callsPerCell: 2, callsInFlight: 1 };
  await writeFile(file, JSON.stringify({ limits: [limit] }));
  const alice = {};
  const [one, other, bobs] = [start(undefined, folder, alice), start(undefined, folder, alice), start()];
  const limits = (current: typeof one) => current()?.of(CALL.server, CALL.tool).limits ?? [];
  const count = (current: typeof one, cell: number) =>
    countCall(limits(current), { session: 'default', cell }, nowMs)?.message;
  expect([count(one, 1), count(other, 7)]).toEqual([undefined, undefined]);
  expect(count(one, 1)).toContain('allows 2 calls per minute');
  expect(count(other, 8)).toContain('allows 2 calls per minute');
  expect(count(bobs, 1)).toBeUndefined();
  later(61_000);
  // Cell 7 has made one call, and cell 1 of the other profile did not take its count.
  expect([count(one, 1), count(other, 7)]).toEqual([undefined, undefined]);
  later(61_000);
  expect([count(one, 1), count(other, 7)]).toEqual(
    Array.from({ length: 2 }, () => expect.stringContaining('allows 2 calls per cell')),
  );
  expect(limits(one)[0]?.counts.inFlight).toBe(limits(other)[0]?.counts.inFlight);
});

it('a change applies at the next check of the file, and not before', async () => {
  await writeFile(file, '{}');
  const current = start();
  expect(current()?.decide(CALL).effect).toBe('allow');
  await writeFile(file, '{"default": "deny"}');
  expect(current()?.decide(CALL).effect).toBe('allow');
  later(250);
  expect(current()?.decide(CALL).effect).toBe('deny');
  expect(current()).toBe(current());
  expect(lines).toEqual(['policy.json changed; the new version applies.']);
});

it.each([
  ['{"default": ', /policy\.json is not JSON/],
  ['{"defualt": "deny"}', /policy\.json: Unrecognized key: "defualt"/],
  // JSON.parse keeps the last duplicate, so the first rules were silently lost.
  ['{"rules": [{"effect": "deny"}], "rules": []}', /policy\.json has the key "rules" more than once in one object/],
  [
    '{"rules": [{"effect": "deny", "tool": "\\"a", "\\u0065ffect": "allow"}]}',
    /policy\.json has the key "effect" more/,
  ],
  ['[]', /policy\.json: must be an object/],
])(
  'a file that becomes invalid while the bridge runs refuses every call until it is fixed: %s',
  async (broken, reason) => {
    await writeFile(file, '{"default": "allow"}');
    const current = start();
    expect(current()?.decide(CALL).effect).toBe('allow');
    await writeFile(file, broken);
    later();
    expect(current()?.decide(CALL)).toEqual({ effect: 'deny', reason: expect.stringMatching(reason) });
    expect(lines).toEqual(['policy.json changed; the new version applies.', expect.stringMatching(reason)]);
    await writeFile(file, '{}');
    later();
    expect(current()?.decide(CALL).effect).toBe('allow');
  },
);

it('a path that is not a file or cannot be accessed does not count as a missing file', async () => {
  await mkdir(file);
  const current = start();
  expect(current()?.decide(CALL)).toEqual({
    effect: 'deny',
    reason: expect.stringMatching(/policy\.json is not a file$/),
  });
  const behindFile = createCurrentPolicies({
    stateDir: join(folder, 'x', '\0'),
    definitions: () => new Map(),
    logger: { debug: () => {}, info: () => {}, warning: () => {}, error: () => {}, daily: () => {} },
  });
  expect(behindFile()?.decide(CALL).effect).toBe('deny');
});

// It counted as a missing file, so a policy on a drive that was not mounted allowed everything.
it.runIf(process.platform !== 'win32')('a broken link does not count as a missing file', async () => {
  const target = join(folder, 'elsewhere.json');
  await symlink(target, file);
  const current = start();
  const reason = expect.stringMatching(/policy\.json is a broken link$/);
  expect(current()?.decide(CALL)).toEqual({ effect: 'deny', reason });
  await writeFile(target, '{}');
  later();
  expect(current()?.decide(CALL).effect).toBe('allow');
  await rm(target);
  later();
  expect(current()?.decide(CALL).effect).toBe('allow');
  later(2_000);
  expect(current()?.decide(CALL)).toEqual({ effect: 'deny', reason });
  await rm(file);
  later(2_000);
  expect(current()).toBeUndefined();
});

it.runIf(process.platform !== 'win32')('nor does a file in a folder that is a broken link', async () => {
  const stateDir = join(folder, 'link');
  await symlink(join(folder, 'not-mounted'), stateDir);
  const current = start(undefined, stateDir);
  expect(current()?.decide(CALL)).toEqual({
    effect: 'deny',
    reason: expect.stringMatching(/policy\.json cannot be accessed: .*link is a broken link$/),
  });
  await mkdir(join(folder, 'not-mounted'));
  later(2_000);
  expect(current()).toBeUndefined();
});

it('a file keeps applying while an editor replaces it, but not after it was removed', async () => {
  await writeFile(file, '{"default": "deny"}');
  const current = start();
  expect(current()?.decide(CALL).effect).toBe('deny');
  await rename(file, `${file}~`);
  later();
  expect(current()?.decide(CALL).effect).toBe('deny');
  await rename(`${file}~`, file);
  later(60_000);
  expect(current()?.decide(CALL).effect).toBe('deny');
  await rm(file);
  later();
  expect(current()?.decide(CALL).effect).toBe('deny');
  later(2_000);
  expect(current()).toBeUndefined();
  expect(lines.at(-1)).toBe('policy.json was removed and no longer applies.');
});

it('policies in entries follow the configuration, and an invalid one is logged once', () => {
  const owner = (value: unknown): PolicyOwner => ({
    file: '/a.json',
    policy: { value, path: ['mcpServers', 'files', 'policy'] },
  });
  let owners: ReadonlyMap<string, PolicyOwner> = new Map([['files', owner({ preset: 'read-only' })]]);
  const current = start(() => owners);
  expect(current()?.decide(CALL).effect).toBe('deny');
  owners = new Map([['files', owner('read-only')]]);
  expect(current()?.decide(CALL).reason).toContain('/a.json: mcpServers.files.policy: must be an object');
  owners = new Map(owners);
  expect(current()?.decide(CALL).effect).toBe('deny');
  expect(lines).toEqual(['Calls are refused: /a.json: mcpServers.files.policy: must be an object']);
  owners = new Map([['files', { file: '/a.json', policy: undefined }]]);
  expect(current()).toBeUndefined();
});
