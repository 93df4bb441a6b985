import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Logger } from '../../../src/base/log.ts';
import { createCurrentPolicies, type PolicyOwner } from '../../../src/policy/current-policies.ts';

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

function start(owners = () => NO_OWNERS, stateDir = folder) {
  const note = (line: string) => {
    lines.push(line);
  };
  const logger: Logger = { debug: note, info: note, warning: note, error: note };
  return createCurrentPolicies({ stateDir, definitions: owners, logger, nowMs: () => nowMs });
}

/** Time passes, so that the file is looked at again. */
function later(ms = 1_000): void {
  nowMs += ms;
}

it('without a file and without a policy of an entry there is none', () => {
  expect(start()()).toBeUndefined();
  expect(lines).toEqual([]);
});

it('a change is in force soon, and the file is not looked at more often', async () => {
  await writeFile(file, '{}');
  const current = start();
  expect(current()?.decide(CALL).effect).toBe('allow');
  await writeFile(file, '{"default": "deny"}');
  expect(current()?.decide(CALL).effect).toBe('allow');
  later(250);
  expect(current()?.decide(CALL).effect).toBe('deny');
  expect(current()).toBe(current());
  expect(lines).toEqual(['policy.json has changed.']);
});

it.each([
  ['{"default": ', /policy\.json is not JSON/],
  ['{"defualt": "deny"}', /policy\.json: Unrecognized key: "defualt"/],
  // JSON takes the last of two: the first rules were gone without a word.
  ['{"rules": [{"effect": "deny"}], "rules": []}', /policy\.json has the key "rules" more than once in one object/],
  [
    '{"rules": [{"effect": "deny", "tool": "\\"a", "\\u0065ffect": "allow"}]}',
    /policy\.json has the key "effect" more/,
  ],
  ['[]', /policy\.json: must be an object/],
])('a file that is broken while the bridge runs refuses every call until it is mended: %s', async (broken, reason) => {
  await writeFile(file, '{"default": "allow"}');
  const current = start();
  expect(current()?.decide(CALL).effect).toBe('allow');
  await writeFile(file, broken);
  later();
  expect(current()?.decide(CALL)).toEqual({ effect: 'deny', reason: expect.stringMatching(reason) });
  expect(lines).toEqual(['policy.json has changed.', expect.stringMatching(reason)]);
  await writeFile(file, '{}');
  later();
  expect(current()?.decide(CALL).effect).toBe('allow');
});

it('what is no file, or cannot be looked at, is no missing file', async () => {
  await mkdir(file);
  const current = start();
  expect(current()?.decide(CALL)).toEqual({
    effect: 'deny',
    reason: expect.stringMatching(/policy\.json is no file$/),
  });
  const behindFile = createCurrentPolicies({
    stateDir: join(folder, 'x', '\0'),
    definitions: () => new Map(),
    logger: { debug: () => {}, info: () => {}, warning: () => {}, error: () => {} },
  });
  expect(behindFile()?.decide(CALL).effect).toBe('deny');
});

// It was taken for a missing file: a policy on a drive that is not mounted allowed everything.
it.runIf(process.platform !== 'win32')('a link to a file that is not there is no missing file', async () => {
  const target = join(folder, 'elsewhere.json');
  await symlink(target, file);
  const current = start();
  const reason = expect.stringMatching(/policy\.json is a link to something that is not there$/);
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

it.runIf(process.platform !== 'win32')('nor is one in a folder that is such a link', async () => {
  const stateDir = join(folder, 'link');
  await symlink(join(folder, 'not-mounted'), stateDir);
  const current = start(undefined, stateDir);
  expect(current()?.decide(CALL)).toEqual({
    effect: 'deny',
    reason: expect.stringMatching(/policy\.json cannot be looked at: .*link is a link to something that is not there$/),
  });
  await mkdir(join(folder, 'not-mounted'));
  later(2_000);
  expect(current()).toBeUndefined();
});

it('a file that an editor replaces is in force all the time; one that was removed is not', async () => {
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
  expect(lines.at(-1)).toBe('policy.json is gone; calls are no longer bound by it.');
});

it('policies of entries follow the configuration, and a broken one is told once', () => {
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
