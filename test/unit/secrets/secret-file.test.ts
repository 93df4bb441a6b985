import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { principalFolder } from '../../../src/core/state/principals.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import { manageSecrets } from '../../../src/features/secrets/run.ts';
import { SecretFile } from '../../../src/features/secrets/secret-file.ts';
import { createSecretValues } from '../../../src/features/secrets/secret-values.ts';

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-secret-file-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const settings = loadSettings({ MCP_BRIDGE_STATE_DIR: folder });
  const run = async (line: object, typed = ''): Promise<string> => {
    let out = '';
    await manageSecrets(
      { command: 'secrets', action: 'list', principal: undefined, isJson: false, ...line },
      { settings, input: Readable.from([typed]), terminal: undefined, writeOut: (text) => void (out += text) },
    );
    return out;
  };
  const prepare = createSecretValues({ home: folder, env: {}, stateDir: folder });
  const valueFor = async (name?: string, reference = '${secret:KEY}'): Promise<string | undefined> => {
    const owner = name === undefined ? undefined : { name, folder: principalFolder(folder, name) };
    const entry = { name: 'x', file: join(folder, 'servers.json'), command: 'run', args: [], env: { KEY: reference } };
    return (await prepare({ ...entry, owner })).env['KEY'];
  };
  return { folder, run, valueFor };
}

it('stores, lists and removes secrets, and never prints a value', async () => {
  const { folder, run, valueFor } = setUp();
  expect(await run({ action: 'set', name: 'KEY' }, 'of-all\n')).toBe('Stored the secret KEY.\n');
  expect(await run({ action: 'set', name: 'KEY', principal: 'alice' }, 'of-alice')).toBe(
    'Stored the secret KEY of alice.\n',
  );
  expect(await run({})).toMatch(/^KEY +set \d{4}-\d\d-\d\d\n$/);
  expect(await run({ isJson: true })).not.toContain('of-all');
  expect([await valueFor(), await valueFor('alice')]).toEqual(['of-all', 'of-alice']);
  expect(statSync(join(folder, '.secrets.json')).mode & 0o777).toBe(0o600);
  expect(await run({ action: 'remove', names: ['KEY'] })).toBe('Removed: KEY\n');
  await expect(run({ action: 'remove', names: ['KEY'] })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  expect(await valueFor('alice')).toBe('of-alice');
});

it('takes no other secret where one is missing, and says what to do', async () => {
  const { run, valueFor } = setUp();
  await run({ action: 'set', name: 'KEY' }, 'of-all');
  await run({ action: 'set', name: 'KEY', principal: 'alice' }, 'of-alice');
  const error = await valueFor('bob').catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'SECRET_UNAVAILABLE',
    message: expect.stringContaining("there is no secret 'KEY' of bob"),
    hint: expect.stringContaining('secrets set KEY --for bob'),
  });
  await expect(valueFor(undefined, '${secret:OTHER}')).rejects.toMatchObject({
    hint: expect.stringMatching(/secrets set OTHER$/),
  });
  await expect(valueFor(undefined, '${secret:../KEY}')).rejects.toMatchObject({ code: 'SECRET_UNAVAILABLE' });
});

it.each(['', '\n', 'with\0nul', 'x'.repeat(70_000)])('refuses a value that cannot be one', async (value) => {
  const { run } = setUp();
  await expect(run({ action: 'set', name: 'KEY' }, value)).rejects.toMatchObject({ code: 'USAGE_INVALID' });
});

it('reports a file that is damaged or a link, without its content', async () => {
  const { folder, run, valueFor } = setUp();
  const path = join(folder, '.secrets.json');
  writeFileSync(path, '{"canary-of-the-file', { mode: 0o600 });
  const error = await valueFor().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'SECRET_UNAVAILABLE' });
  expect(String(error)).not.toContain('canary');
  await expect(run({ action: 'set', name: 'KEY' }, 'value')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  expect(readFileSync(path, 'utf8')).toContain('canary');
  rmSync(path);
  writeFileSync(join(folder, 'elsewhere'), '{"version":1,"secrets":[]}');
  chmodSync(join(folder, 'elsewhere'), 0o600);
  symlinkSync(join(folder, 'elsewhere'), path);
  await expect(valueFor()).rejects.toMatchObject({ code: 'SECRET_UNAVAILABLE' });
});

it('has a version that changes with each write', async () => {
  const { folder, run } = setUp();
  const file = new SecretFile(folder);
  const versions = [file.version()];
  for (const value of ['one', 'two']) {
    await run({ action: 'set', name: 'KEY' }, value);
    versions.push(file.version());
  }
  expect(new Set(versions).size).toBe(3);
});
