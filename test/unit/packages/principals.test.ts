/** What one principal has allowed is not allowed for another. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Question, Reply } from '../../../src/base/cell.ts';
import { BridgeError } from '../../../src/base/errors.ts';
import type { Engine } from '../../../src/engines/engine.ts';
import { createPackageLocks, lockKey, type PackageLock } from '../../../src/packages/locks.ts';
import type { PackageIndex } from '../../../src/packages/package-index.ts';
import { createPackageInstaller } from '../../../src/packages/packages.ts';
import type { Asker } from '../../../src/session/asker.ts';
import type { CallContext } from '../../../src/session/dispatch.ts';

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

async function lock(more: Partial<PackageLock>): Promise<void> {
  const request = { requirements: [PACKAGE.name], constraints: [], index: INDEX, image: IMAGE, minAgeMs: 0 };
  await createPackageLocks(stateDir).write(lockKey(request), {
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

/** Installs in a new session of a new bridge; resolves with the code of the refusal, or with how often the person was asked. */
async function install(principal: string | undefined, reply?: Reply): Promise<unknown> {
  const questions: Question[] = [];
  const asker: Asker | undefined = reply && {
    code: '',
    opensPages: false,
    ask: async (question) => {
      questions.push(question);
      return reply;
    },
  };
  const installer = createPackageInstaller({
    engine: { name: 'podman', canBuild: true } as unknown as Engine,
    mode: 'common',
    policy: () => undefined,
    minAgeMs: 0,
    maxBytes: 1,
    maxAgeMs: 0,
    readIndex: async () => INDEX,
    readProgram: () => Promise.reject(new Error('nothing is built')),
    stateDir,
    principal,
    image: IMAGE,
  });
  const [, method] = installer.methods.find(([name]) => name === 'install_packages') ?? [];
  const context = { session: 'default', sandbox: {}, python: PYTHON, asker, signal: new AbortController().signal };
  const params = { modules: [], requirements: [PACKAGE.name], is_gone: false, set: null };
  return method
    ?.run(params, context as unknown as CallContext)
    .then(() => questions.length)
    .catch((error: unknown) => (error instanceof BridgeError ? error.code : error));
}

it('a package that one principal allowed needs the consent of another, once', async () => {
  await lock({ allowed_for: ['alice'] });
  expect(await install('alice')).toBe(0);
  expect(await install('bob')).toBe('APPROVAL_UNAVAILABLE');
  expect(await install(undefined)).toBe('APPROVAL_UNAVAILABLE');
  expect(await install('bob', { action: 'decline' })).toBe('APPROVAL_DENIED');
  expect(await install('bob', YES)).toBe(1);
  expect(await install('bob')).toBe(0);
  expect(await install('alice')).toBe(0);
});

it('a lock that names no one is that of the user of this machine', async () => {
  await lock({});
  expect([await install(undefined), await install('alice')]).toEqual([0, 'APPROVAL_UNAVAILABLE']);
});

it('what the operator has added, or a setting allows, needs no consent', async () => {
  await lock({ added_at: 1 });
  expect(await install('alice')).toBe(0);
  await lock({ allowed_by: 'common' });
  expect(await install('bob')).toBe(0);
});
