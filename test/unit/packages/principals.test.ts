/** What one principal has allowed is not allowed for another. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Question, Reply } from '../../../src/core/base/cell.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import type { Asker } from '../../../src/core/session/asker.ts';
import type { CallContext } from '../../../src/core/session/dispatch.ts';
import type { Engine } from '../../../src/core/session/engine.ts';
import { principalFolder, profileFolder } from '../../../src/core/state/principals.ts';
import {
  createPackageLocks,
  lockKey,
  MAX_SESSION_LOCKS,
  type PackageLock,
} from '../../../src/features/packages/locks.ts';
import type { PackageIndex } from '../../../src/features/packages/package-index.ts';
import { createPackageInstaller } from '../../../src/features/packages/packages.ts';
import { sha256Of, WheelFolder } from '../../../src/features/packages/pure/wheel-folder.ts';
import { StoreBudget } from '../../../src/features/packages/store-budget.ts';

const IMAGE = 'python:3.14-slim';
const PYTHON = 'cpython-314 linux x86_64';
const INDEX: PackageIndex = {
  urls: ['https://index.example/simple'],
  links: [],
  absent: {},
  trusted: [],
  certificates: undefined,
  proxies: {},
  mask: (text) => text,
};
const YES: Reply = { action: 'accept', content: { install: true } };
const PACKAGE = {
  name: 'obscure-thing',
  version: '1.0',
  file: 'obscure_thing-1.0-py3-none-any.whl',
  url: 'https://index.example/obscure_thing-1.0-py3-none-any.whl',
  sha256: 'a'.repeat(64),
};

let stateDir = '';
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'principals-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
});

const folderOf = (principal: string | undefined) => (principal === undefined ? stateDir : join(stateDir, principal));
const KEY = lockKey({ requirements: [PACKAGE.name], constraints: [], index: INDEX, image: IMAGE, minAgeMs: 0 });

/** Writes what a principal has installed; undefined for the operator. */
async function lock(principal: string | undefined, more: Partial<PackageLock>): Promise<void> {
  await createPackageLocks(folderOf(principal)).write(KEY, {
    version: 1,
    requirements: [PACKAGE.name],
    python: PYTHON,
    set: 'b'.repeat(64),
    packages: [PACKAGE],
    image: IMAGE,
    allowed_by: 'user',
    ...more,
  });
}

interface More {
  readonly reply?: Reply;
  readonly engine?: Partial<Engine>;
  readonly requirement?: string;
  readonly maxBytes?: number;
}

/** Installs in a new session of a new bridge; resolves with the code of the refusal, or with how often the person was asked. */
async function install(principal: string | undefined, more: More = {}): Promise<unknown> {
  const questions: Question[] = [];
  const { engine = { name: 'podman', canBuild: true }, maxBytes = 1_000_000, reply, requirement = PACKAGE.name } = more;
  const asker: Asker | undefined = reply && {
    code: '',
    opensPages: false,
    ask: async (question) => {
      questions.push(question);
      return reply;
    },
  };
  const installer = createPackageInstaller({
    engine: engine as Engine,
    mode: 'common',
    policy: () => undefined,
    minAgeMs: 0,
    maxBytes,
    maxAgeMs: 60_000,
    readIndex: async () => INDEX,
    readProgram: () => Promise.reject(new Error('nothing is built')),
    stateDir: folderOf(principal),
    operatorsDir: principal === undefined ? undefined : stateDir,
    image: IMAGE,
  });
  const [, method] = installer.methods.find(([name]) => name === 'install_packages') ?? [];
  const context = { session: 'default', sandbox: {}, python: PYTHON, asker, signal: new AbortController().signal };
  const params = { modules: [], requirements: [requirement], is_gone: false, set: null };
  return method
    ?.run(params, context as unknown as CallContext)
    .then(() => questions.length)
    .catch((error: unknown) => (error instanceof BridgeError ? `${error.code}: ${error.message}` : String(error)));
}

/** Path and content of all files of the operator. */
function filesOfOperator(): string[] {
  const folder = join(stateDir, 'packages');
  return readdirSync(folder).map((name) => `${name} ${readFileSync(join(folder, name), 'utf8')}`);
}

const ASKED = expect.stringMatching(/^APPROVAL_UNAVAILABLE/);

it('a package that one principal allowed needs the consent of every other', async () => {
  await lock('alice', {});
  expect(await install('alice')).toBe(0);
  expect(await install('bob')).toEqual(ASKED);
  expect(await install(undefined)).toEqual(ASKED);
  expect(await install('bob', { reply: { action: 'decline' } })).toMatch(/^APPROVAL_DENIED/);
  expect(await install('bob', { reply: YES })).toContain('nothing is built');
});

// One principal with a long name made the file unreadable for all.
it('a lock of an earlier version, which names principals, is read; the user agrees to what others have allowed, once', async () => {
  await lock(undefined, { allowed_for: ['https://issuer.example#'.repeat(20)] });
  expect(await install(undefined)).toEqual(ASKED);
  expect(await install(undefined, { reply: YES })).toBe(1);
  expect(await install(undefined)).toBe(0);
  expect(filesOfOperator().join()).not.toContain('allowed_for');
  await lock(undefined, { allowed_for: ['alice', ''] });
  expect(await install(undefined)).toBe(0);
});

it('a principal reads what the operator has added, not what sessions of the operator have, and writes neither', async () => {
  await lock(undefined, { allowed_by: 'common' });
  expect(await install('alice')).toEqual(ASKED);
  const bytes = Buffer.from('a wheel');
  const engine = { name: 'embedded', wheelsFor: PYTHON } as const;
  const sha256 = sha256Of(bytes);
  await lock(undefined, { added_at: 1, image: 'embedded', packages: [{ ...PACKAGE, sha256 }] });
  const before = filesOfOperator();
  // Without the wheel, it would have to be fetched.
  expect(await install('alice', { engine })).toMatch(/^PACKAGE_UNAVAILABLE: index.example cannot be reached/);
  const wheels = new WheelFolder(stateDir);
  await wheels.write(sha256, bytes);
  expect(await install('alice', { engine })).toBe(0);
  rmSync(join(stateDir, 'packages', 'wheels'), { recursive: true });
  expect(await install('alice', { engine })).toBe(0);
  expect(filesOfOperator()).toEqual(before);
});

it('sessions have a limit of locks, which concerns neither the operator nor others, and says what to do', async () => {
  const locks = createPackageLocks(stateDir);
  const old = new Date(Date.now() - 3_600_000);
  const facts: PackageLock = { version: 1, requirements: [], python: PYTHON, set: null, packages: [] };
  await Promise.all(Array.from({ length: MAX_SESSION_LOCKS }, (_, at) => locks.write(`flood-${at}`, facts)));
  const more = { reply: YES, requirement: 'other-thing' };
  expect(await install(undefined, more)).toBe(
    'PACKAGE_UNAVAILABLE: sessions have asked for 500 combinations of packages, and the bridge keeps no more',
  );
  expect(await install('alice', more)).toContain('nothing is built');
  // What is there still works, and so does what the operator adds.
  utimesSync(join(stateDir, 'packages', 'flood-0.lock.json'), old, old);
  await lock(undefined, { added_at: 1 });
  utimesSync(join(stateDir, 'packages', `${KEY}.lock.json`), old, old);
  expect(await install(undefined)).toBe(0);
  // Those that no session has used for longer than the store keeps sets make room.
  expect(await install(undefined, more)).toContain('nothing is built');
  expect((await locks.all()).length).toBe(MAX_SESSION_LOCKS);
});

it('principals share the limit of the store: half for each, and what is left', async () => {
  const bytesOf = async (principal: string, bytes: number) => {
    const folder = join(stateDir, 'http', 'principals', `of-${principal}`);
    mkdirSync(folder, { recursive: true });
    await new StoreBudget(folder, stateDir).note(bytes);
    return new StoreBudget(folder, stateDir);
  };
  const alice = await bytesOf('alice', 400);
  await bytesOf('bob', 450);
  const eve = await bytesOf('eve', 0);
  expect(await Promise.all([alice, eve].map((one) => one.maxBytes(1_000)))).toEqual([500, 150]);
  await expect(eve.maxBytes(850)).rejects.toThrow('the packages of other tokens take 1 KiB of the 1 KiB');
  expect(await new StoreBudget(stateDir, undefined).maxBytes(10)).toBe(10);
});

it('the stores of all profiles of a token count together, whichever the client chooses', async () => {
  const budgetOf = async (folder: string, bytes?: number) => {
    mkdirSync(folder, { recursive: true });
    const budget = new StoreBudget(folder, stateDir);
    await budget.note(bytes);
    return budget;
  };
  const bob = principalFolder(stateDir, 'bob');
  await budgetOf(profileFolder(bob, 'one'), 500);
  const other = await budgetOf(profileFolder(bob, 'two'));
  await expect(other.maxBytes(1_000)).rejects.toThrow('other profiles of the token take 1 KiB of the 1 KiB');
  expect(await other.maxBytes(1_200)).toBe(100);
  const alice = await budgetOf(principalFolder(stateDir, 'alice'));
  expect(await alice.maxBytes(1_000)).toBe(500);
  const ofUser = await budgetOf(profileFolder(stateDir, 'one'), 300);
  expect(await ofUser.maxBytes(1_000)).toBe(500);
});
