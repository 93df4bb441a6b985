/** The store of artifacts: files appear whole or not at all, stay inside the store, and are limited in size and number. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  MAX_ARTIFACT_BYTES,
  MAX_ARTIFACT_TRANSFERS,
  MAX_ARTIFACTS_PER_SESSION,
} from '../../../src/core/base/limits.ts';
import { type Artifacts, createArtifacts } from '../../../src/features/artifacts/artifacts.ts';

function store(): { artifacts: Artifacts; folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-artifacts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return { artifacts: createArtifacts(folder), folder: join(folder, 'artifacts') };
}

function save(artifacts: Artifacts, name: string, text: string, session = 'default') {
  return artifacts.write({ session, name, offset: 0, data: Buffer.from(text), isLast: true });
}

const LARGE = { maxBytes: 1_000_000, maxCount: 100, maxSessionBytes: 1_000_000 };

describe('a file', () => {
  it('arrives in pieces, appears when it is complete, and replaces the previous one', async () => {
    const { artifacts, folder } = store();
    await save(artifacts, 'report.csv', 'old');
    const piece = { session: 'default', name: 'report.csv' };
    await artifacts.write({ ...piece, offset: 0, data: Buffer.from('a,b\n'), isLast: false });
    expect(readFileSync(join(folder, 'default/report.csv'), 'utf8')).toBe('old');
    const saved = await artifacts.write({ ...piece, offset: 4, data: Buffer.from('1,2\n'), isLast: true });
    expect(saved).toMatchObject({ ...piece, sizeBytes: 8 });
    expect(readFileSync(join(folder, 'default/report.csv'), 'utf8')).toBe('a,b\n1,2\n');
    expect(readdirSync(join(folder, 'default'))).toEqual(['report.csv']);
    expect(statSync(join(folder, 'default/report.csv')).mode & 0o777).toBe(0o600);
  });

  it('may be empty', async () => {
    const { artifacts } = store();
    expect(await save(artifacts, 'empty', '')).toMatchObject({ sizeBytes: 0 });
    expect((await artifacts.read('default', 'empty', 0, 10)).data).toHaveLength(0);
  });

  it('can be read in parts and is listed, in other sessions too', async () => {
    const { artifacts } = store();
    await save(artifacts, 'b.txt', 'hello', 'two');
    await save(artifacts, 'ä b.txt', 'x');
    expect((await artifacts.read('two', 'b.txt', 1, 3)).data.toString()).toBe('ell');
    expect((await artifacts.list()).map(({ session, name }) => `${session}/${name}`)).toEqual([
      'default/ä b.txt',
      'two/b.txt',
    ]);
  });

  it('that is saved twice at the same time never appears incomplete', async () => {
    const { artifacts, folder } = store();
    const piece = { session: 'default', name: 'x', isLast: false };
    await artifacts.write({ ...piece, offset: 0, data: Buffer.from('11') });
    await artifacts.write({ ...piece, offset: 0, data: Buffer.from('2') });
    await expect(artifacts.write({ ...piece, offset: 2, data: Buffer.from('11') })).rejects.toMatchObject({
      code: 'CALL_REFUSED',
      message: expect.stringContaining('out of order'),
    });
    expect(readdirSync(join(folder, 'default'))).toEqual([]);
  });
});

describe('what is being saved', () => {
  const piece = { session: 'default', offset: 0, data: Buffer.alloc(1_000), isLast: false };
  const filesIn = (folder: string) => readdirSync(join(folder, 'default')).toSorted();

  // It stayed for ten minutes, with up to 64 MiB.
  it('leaves nothing behind if the last step fails', async () => {
    const { artifacts, folder } = store();
    mkdirSync(join(folder, 'default/taken/inside'), { recursive: true });
    await expect(save(artifacts, 'taken', 'text')).rejects.toMatchObject({ code: 'STATE_WRITE_FAILED' });
    expect(filesIn(folder)).toEqual(['taken']);
  });

  it('is at most a few files at once; the one that waits longest is given up', async () => {
    const { artifacts, folder } = store();
    for (let number = 0; number < 3 * MAX_ARTIFACT_TRANSFERS; number += 1) {
      await artifacts.write({ ...piece, name: `n${number}` });
    }
    expect(filesIn(folder)).toHaveLength(MAX_ARTIFACT_TRANSFERS);
    await expect(artifacts.write({ ...piece, name: 'n0', offset: 1_000 })).rejects.toMatchObject({
      code: 'CALL_REFUSED',
    });
  });

  it('stays one file if it is begun 20 times at once', async () => {
    const { artifacts, folder } = store();
    await Promise.all(Array.from({ length: 20 }, () => artifacts.write({ ...piece, name: 'same' })));
    expect(filesIn(folder)).toHaveLength(1);
  });

  it('is removed with the sandbox, and with the bridge', async () => {
    const { artifacts, folder } = store();
    await artifacts.write({ ...piece, name: 'a' });
    await artifacts.write({ ...piece, name: 'b', session: 'other' });
    await artifacts.endSession('default');
    expect(filesIn(folder)).toEqual([]);
    expect(readdirSync(join(folder, 'other'))).toHaveLength(1);
    await artifacts.close();
    expect(readdirSync(join(folder, 'other'))).toEqual([]);
  });

  it('is removed by a later bridge if this one was killed, and only if it is old', async () => {
    const { artifacts, folder } = store();
    await artifacts.write({ ...piece, name: 'old' });
    const [old = ''] = filesIn(folder);
    const longAgo = new Date(Date.now() - 3_600_000);
    utimesSync(join(folder, 'default', old), longAgo, longAgo);
    await artifacts.write({ ...piece, name: 'new', session: 'other' });
    await createArtifacts(join(folder, '..')).list();
    expect(filesIn(folder)).toEqual([]);
    expect(readdirSync(join(folder, 'other'))).toHaveLength(1);
  });

  it('counts against the limit of all artifacts, whoever left it', async () => {
    const { folder } = store();
    await createArtifacts(join(folder, '..')).write({ ...piece, name: 'left' });
    const artifacts = createArtifacts(join(folder, '..'), { ...LARGE, maxBytes: 14_000, maxCount: 100 });
    await artifacts.write({ ...piece, name: 'a', isLast: true });
    await artifacts.write({ ...piece, name: 'b', session: 'other' });
    await expect(artifacts.write({ ...piece, name: 'c' })).rejects.toMatchObject({
      code: 'LIMIT_ARTIFACT',
      message: 'all artifacts take 12,288 bytes on disk already; the limit is 14,000 bytes',
    });
    await artifacts.endSession('other');
    await artifacts.write({ ...piece, name: 'c' });
  });
});

describe('refused', () => {
  it.each([
    '../x',
    'a/b',
    'a\\b',
    '.hidden',
    '',
    'x'.repeat(121),
    'nul',
    'CON.txt',
    'end.',
    'end ',
    'a\nb',
    'a\0b',
    '..',
  ])('is the name %j', async (name) => {
    const { artifacts } = store();
    await expect(save(artifacts, name, 'x')).rejects.toMatchObject({ code: 'CALL_REFUSED' });
    await expect(artifacts.read('default', name, 0, 1)).rejects.toMatchObject({ code: 'CALL_REFUSED' });
  });

  it('is an invalid session name', async () => {
    const { artifacts } = store();
    await expect(save(artifacts, 'x', 'x', '../..')).rejects.toMatchObject({ code: 'CALL_REFUSED' });
  });

  it('is a file over the size limit, whose pieces are removed', async () => {
    const { artifacts, folder } = store();
    const piece = { session: 'default', name: 'big', isLast: false };
    await artifacts.write({ ...piece, offset: 0, data: Buffer.alloc(1) });
    const last = { ...piece, offset: 1, data: Buffer.alloc(MAX_ARTIFACT_BYTES) };
    await expect(artifacts.write(last)).rejects.toMatchObject({ code: 'LIMIT_ARTIFACT' });
    expect(readdirSync(join(folder, 'default'))).toEqual([]);
  });

  it('is a file over the number limit, but not a replacement', async () => {
    const { artifacts, folder } = store();
    mkdirSync(join(folder, 'default'), { recursive: true });
    for (let index = 0; index < MAX_ARTIFACTS_PER_SESSION; index += 1) {
      writeFileSync(join(folder, 'default', `n${index}`), '');
    }
    await expect(save(artifacts, 'more', '')).rejects.toMatchObject({ code: 'LIMIT_ARTIFACT' });
    await expect(save(artifacts, 'n1', 'new')).resolves.toMatchObject({ sizeBytes: 3 });
  });

  // 12,000 artifacts of one byte, in sessions with names that a client made up, counted as 12 KB and took 48 MB.
  it('is one more than the number of all sessions, which leaves no folder, but not a replacement', async () => {
    const { folder } = store();
    const artifacts = createArtifacts(join(folder, '..'), { ...LARGE, maxBytes: 1_000_000, maxCount: 3 });
    for (const session of ['a', 'b', 'c']) {
      await save(artifacts, 'one', '', session);
    }
    await expect(save(artifacts, 'one', '', 'd')).rejects.toMatchObject({
      code: 'LIMIT_ARTIFACT',
      message: 'all sessions together have 3 artifacts, which is the limit',
    });
    await expect(save(artifacts, 'one', 'new', 'c')).resolves.toMatchObject({ sizeBytes: 3 });
    expect(readdirSync(folder)).toEqual(['a', 'b', 'c']);
    await artifacts.remove('a', 'one');
    await save(artifacts, 'one', '', 'd');
  });

  it('is what would leave other sessions too little room', async () => {
    const { folder } = store();
    const artifacts = createArtifacts(join(folder, '..'), { ...LARGE, maxBytes: 20_480, maxSessionBytes: 12_288 });
    for (const name of ['a', 'b', 'c']) {
      await save(artifacts, name, 'x');
    }
    const message = 'the artifacts of this session take 12,288 bytes on disk already; its limit is 12,288 bytes';
    await expect(save(artifacts, 'd', 'x')).rejects.toMatchObject({ code: 'LIMIT_ARTIFACT', message });
    await save(artifacts, 'c', 'another');
    await save(artifacts, 'd', 'x', 'other');
  });

  it('is what takes too much on disk, however small the files are', async () => {
    const { folder } = store();
    const artifacts = createArtifacts(join(folder, '..'), { ...LARGE, maxBytes: 10_000, maxCount: 100 });
    await save(artifacts, 'a', 'x');
    await save(artifacts, 'b', '');
    const message = 'all artifacts take 8,192 bytes on disk already; the limit is 10,000 bytes';
    await expect(save(artifacts, 'c', 'x')).rejects.toMatchObject({ code: 'LIMIT_ARTIFACT', message });
    await artifacts.remove('default', 'a');
    await save(artifacts, 'c', 'x');
  });

  it('a folder that has long been empty is removed', async () => {
    const { artifacts, folder } = store();
    await save(artifacts, 'a', 'x', 'used');
    mkdirSync(join(folder, 'new'));
    mkdirSync(join(folder, 'old'));
    const longAgo = new Date(Date.now() - 3_600_000);
    utimesSync(join(folder, 'old'), longAgo, longAgo);
    await createArtifacts(join(folder, '..')).list();
    expect(readdirSync(folder)).toEqual(['new', 'used']);
  });

  it('is a link, to a file or to a folder', async () => {
    const { artifacts, folder } = store();
    mkdirSync(join(folder, 'default'), { recursive: true });
    symlinkSync('/etc/passwd', join(folder, 'default/secret'));
    symlinkSync('/etc', join(folder, 'linked'));
    expect(await artifacts.list()).toEqual([]);
    await expect(artifacts.read('default', 'secret', 0, 10)).rejects.toMatchObject({ code: 'ARTIFACT_UNKNOWN' });
    await expect(save(artifacts, 'x', 'x', 'linked')).rejects.toMatchObject({ code: 'STATE_WRITE_FAILED' });
  });
});
