import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import { checkpointPath, makeRoom } from '../../../src/core/session/checkpoint-room.ts';
import {
  type CheckpointFacts,
  CheckpointStore,
  lastingStore,
  sweepAllCheckpoints,
  sweepCheckpoints,
} from '../../../src/core/session/checkpoint-store.ts';

const root = mkdtempSync(join(tmpdir(), 'bridge-test-checkpoints-'));
afterAll(() => rmSync(root, { recursive: true }));

const DATA = Buffer.from(Array.from({ length: 20_000 }, (_, index) => index % 251));
const FACTS: CheckpointFacts = {
  session: 'report',
  cell: 7,
  savedAt: '2026-11-23T12:04:00.000Z',
  python: '3.14.0',
  engine: 'podman',
  variables: 2,
  files: 1,
  lost: [{ name: 'conn', reason: 'an open file' }],
  servers: ['git'],
};

let count = 0;
let folder = '';
let store = new CheckpointStore(folder, silentLogger, { isOwn: false });
beforeEach(() => {
  count += 1;
  folder = join(root, String(count), 'checkpoints');
  store = new CheckpointStore(folder, silentLogger, { isOwn: false });
});

async function save(session: string, data = DATA): Promise<void> {
  const writer = await store.begin(session);
  await writer.write(data.subarray(0, 100));
  await writer.write(data.subarray(100));
  await writer.commit({ ...FACTS, session });
}

async function content(session: string): Promise<Buffer | undefined> {
  const stored = await store.open(session);
  try {
    return await stored?.read(0, 1_000_000);
  } finally {
    await stored?.close();
  }
}

const fileOf = () => join(folder, readdirSync(folder).find((name) => name.endsWith('.checkpoint')) ?? '');

describe('a checkpoint', () => {
  it('is read as it was written, in parts, with its facts', async () => {
    await save('report');
    const stored = await store.open('report');
    expect(stored?.facts).toEqual(FACTS);
    expect(await stored?.read(19_990, 100)).toEqual(DATA.subarray(19_990));
    expect(await stored?.read(30_000, 100)).toEqual(Buffer.alloc(0));
    await stored?.close();
    expect(await content('report')).toEqual(DATA);
  });

  it('is readable by its owner only', async () => {
    await save('report');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(fileOf()).mode & 0o777).toBe(0o600);
  });

  it('starts over without what came before', async () => {
    const writer = await store.begin('report');
    await writer.write(Buffer.alloc(50_000, 1));
    await writer.restart();
    await writer.write(DATA);
    await writer.commit(FACTS);
    expect(await content('report')).toEqual(DATA);
  });

  it('replaces the one before only when it is complete', async () => {
    await save('report');
    const writer = await store.begin('report');
    await writer.write(Buffer.from('new'));
    expect(await content('report')).toEqual(DATA);
    await writer.discard();
    expect(await content('report')).toEqual(DATA);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  it('of another session is not touched', async () => {
    await save('one', Buffer.from('1'));
    await save('two', Buffer.from('2'));
    await store.remove('one');
    expect([await content('one'), await content('two')]).toEqual([undefined, Buffer.from('2')]);
  });

  it('is refused if it was cut anywhere', async () => {
    await save('report');
    const whole = readFileSync(fileOf());
    for (let bytes = 0; bytes < whole.length; bytes += 1_000) {
      writeFileSync(fileOf(), whole.subarray(0, bytes));
      await expect(store.open('report'), `${bytes} bytes`).rejects.toThrow(/cannot be used: it was cut/);
    }
  });

  it('is refused if a byte was changed', async () => {
    await save('report');
    const whole = readFileSync(fileOf());
    for (let at = 0; at < whole.length; at += 997) {
      const changed = Buffer.from(whole);
      changed.writeUInt8((changed.readUInt8(at) + 1) % 256, at);
      writeFileSync(fileOf(), changed);
      await expect(store.open('report'), `byte ${at}`).rejects.toThrow(/cannot be used: it was/);
    }
  });
});

describe('named checkpoints', () => {
  it('are copies, listed from the oldest', async () => {
    await save('report');
    await store.copy('report', 'report\nstart');
    await save('report', Buffer.from('later'));
    expect(await content('report\nstart')).toEqual(DATA);
    expect(await store.list('report\n')).toMatchObject([{ key: 'report\nstart', facts: { cell: 7 } }]);
    expect(await store.list('other\n')).toEqual([]);
  });
});

describe('age', () => {
  it('removes what is too old, but not the session in use', async () => {
    await save('in use');
    await save('other');
    await store.noteCell('gone', 3);
    await store.removeOld('in use', -1);
    expect([await content('in use'), await content('other'), await store.noted('gone')]).toEqual([DATA, undefined, 0]);
    await store.removeOld(undefined, -1);
    // What the next bridges of these sessions will say; it goes when it is too old itself.
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/\.removed$/)]);
    await store.removeOld(undefined, -1);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('the last cell of a session', () => {
  it('is noted beside its checkpoint, and gone with it or once it goes on from another one', async () => {
    await save('report');
    await store.noteCell('report', 9);
    expect([await store.noted('report'), await store.noted('other')]).toEqual([9, 0]);
    await store.copy('report', 'report\nstart');
    expect(await store.noted('report')).toBe(9);
    await store.copyFrom(store, 'report\nstart', 'report');
    expect(await store.noted('report')).toBe(0);
    await store.noteCell('report', 10);
    await store.remove('report');
    expect(await store.noted('report')).toBe(0);
  });
});

describe('the room for checkpoints', () => {
  const pathOf = (session: string) => checkpointPath(folder, session);
  /** As if it were the file of a checkpoint of that size, so many seconds old. */
  function occupy(session: string, bytes: number, ageSeconds: number, name?: string) {
    const path = pathOf(name === undefined ? session : `${session}\n${name}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, '');
    truncateSync(path, bytes);
    const seconds = Date.now() / 1000 - ageSeconds;
    utimesSync(path, seconds, seconds);
    if (name !== undefined) {
      writeFileSync(`${path}.key`, `${session}\n${name}`);
    }
  }
  const exists = (session: string, name?: string) =>
    existsSync(pathOf(name === undefined ? session : `${session}\n${name}`));
  const make = (session: string, bytes: number, maxBytes: number) =>
    makeRoom(join(root, String(count)), { bytes, target: pathOf(session), main: pathOf(session) }, maxBytes);
  const MIB = 1024 * 1024;

  // The five named checkpoints of one session removed what all others had saved, and no one was told.
  it('is taken from the session that uses most, whose next answer says so', async () => {
    occupy('small', 10 * MIB, 900);
    occupy('hog', 20 * MIB, 1);
    occupy('hog', 30 * MIB, 500, 'first');
    occupy('hog', 30 * MIB, 400, 'second');
    await make('new', 20 * MIB, 100 * MIB);
    expect([exists('small'), exists('hog'), exists('hog', 'first'), exists('hog', 'second')]).toEqual([
      true,
      true,
      false,
      true,
    ]);
    expect(await store.takeRemoved('hog')).toEqual([{ name: 'first' }]);
    expect(await store.takeRemoved('hog')).toEqual([]);
  });

  it('is not taken from a session that a bridge has, nor from the one that is saved', async () => {
    occupy('mine', 40 * MIB, 900, 'first');
    occupy('held', 40 * MIB, 900);
    occupy('other', 5 * MIB, 1);
    const claim = await store.claim('held');
    onTestFinished(() => ('pid' in claim ? undefined : claim.release()));
    await expect(make('mine', 40 * MIB, 100 * MIB)).rejects.toThrow(
      'all saved sessions together would use 120 MiB; the limit is 100 MiB, and the others are in use',
    );
    expect([exists('mine', 'first'), exists('held'), exists('other')]).toEqual([true, true, false]);
  });

  it('does not count what the new one replaces, and has a limit for small ones', async () => {
    occupy('mine', 60 * MIB, 1);
    await make('mine', 60 * MIB, 100 * MIB);
    for (let number = 0; number < 20; number += 1) {
      occupy(`small${number}`, 1, 1_000 - number);
    }
    rmSync(pathOf('mine'));
    await make('more', 1, MIB);
    expect(exists('small0')).toBe(false);
    expect(readdirSync(folder).filter((name) => name.endsWith('.checkpoint'))).toHaveLength(15);
  });

  // State that was too old was removed without a word.
  it('loses checkpoints that are too old, and the next answer of their session says when they were saved', async () => {
    const DAY_S = 24 * 60 * 60;
    occupy('old', 1000, 31 * DAY_S);
    occupy('old', 1000, 40 * DAY_S, 'start');
    occupy('old', 1000, 29 * DAY_S, 'kept');
    expect(await store.removeOld(undefined, 30 * DAY_S * 1000)).toBe(2);
    expect([exists('old'), exists('old', 'start'), exists('old', 'kept')]).toEqual([false, false, true]);
    const removed = (await store.takeRemoved('old')).toSorted((a, b) => a.name.length - b.name.length);
    const dayOf = (age: number) => new Date(Date.now() - age * DAY_S * 1000).toISOString().slice(0, 10);
    expect(removed.map(({ name, savedAt }) => [name, savedAt?.slice(0, 10)])).toEqual([
      ['', dayOf(31)],
      ['start', dayOf(40)],
    ]);
    expect(await store.takeRemoved('old')).toEqual([]);
    // A note of an earlier version.
    writeFileSync(`${pathOf('old')}.removed`, '["", "start"]');
    expect(await store.takeRemoved('old')).toEqual([{ name: '' }, { name: 'start' }]);
  });

  it('for the named ones of a session is limited, too; one of them can be replaced', async () => {
    await save('report');
    const names = [1, 2, 3, 4].map((number) => `n${number}`);
    names.forEach((name) => occupy('report', 256 * MIB - 1_000, 1, name));
    await expect(store.copy('report', 'report\nmore')).rejects.toThrow(
      /would use 1,0\d\d,\d\d\d,\d\d\d bytes, and the limit is 1,073,741,824 bytes; use one of their names again: n1, n2, n3, n4$/,
    );
    await store.copy('report', 'report\nn2');
    expect(await content('report\nn2')).toEqual(DATA);
  });
});

describe('what a killed bridge leaves', () => {
  it('goes: its own folder with the next bridge, half a file with the next claim', async () => {
    const mine = join(root, String(count), 'mine');
    const own = new CheckpointStore(mine, silentLogger, { isOwn: true });
    const begun = [await own.begin('default'), await store.begin('report')];
    onTestFinished(async () => void (await Promise.all(begun.map((writer) => writer.discard()))));
    await sweepCheckpoints(join(root, String(count)), silentLogger, 60_000);
    expect(existsSync(mine)).toBe(true);
    const owner = JSON.parse(readFileSync(join(mine, 'bridge.claim'), 'utf8')) as object;
    writeFileSync(join(mine, 'bridge.claim'), JSON.stringify({ ...owner, started: '1' }));
    await save('report');
    await sweepCheckpoints(join(root, String(count)), silentLogger, 60_000);
    expect([existsSync(mine), existsSync(folder)]).toEqual([false, true]);
    expect(readdirSync(folder)).toHaveLength(2);
    await store.claim('report');
    expect(readdirSync(folder).toSorted((a, b) => a.length - b.length)).toEqual([
      expect.stringMatching(/\.checkpoint$/),
      expect.stringMatching(/\.claim$/),
    ]);
    // What no one has used for too long goes, of whatever project.
    await sweepCheckpoints(join(root, String(count)), silentLogger, -1);
    expect(readdirSync(folder).toSorted()).toEqual([
      expect.stringMatching(/\.claim$/),
      expect.stringMatching(/\.removed$/),
    ]);
  });
});

describe('the session that a killed bridge leaves to the next one', () => {
  const dead = (name: string) => join(root, String(count), name);
  async function leave(name: string, savedAt: string, data: string, isAlive = false) {
    const own = new CheckpointStore(dead(name), silentLogger, { isOwn: true });
    await own.leaveTo(store);
    const writer = await own.begin('default');
    await writer.write(Buffer.from(data));
    await writer.commit({ ...FACTS, session: 'default', savedAt });
    if (!isAlive) {
      const owner = JSON.parse(readFileSync(join(dead(name), 'bridge.claim'), 'utf8')) as object;
      writeFileSync(join(dead(name), 'bridge.claim'), JSON.stringify({ ...owner, started: '1' }));
    }
  }

  it('is the newest; a living bridge keeps its own, and others keep theirs until they are too old', async () => {
    await leave('older', '2026-01-01T00:00:00.000Z', 'older');
    await leave('newer', '2026-01-02T00:00:00.000Z', 'newer');
    await leave('alive', '2026-01-03T00:00:00.000Z', 'alive', true);
    await sweepCheckpoints(join(root, String(count)), silentLogger, 60_000);
    expect(existsSync(dead('newer'))).toBe(true);
    await store.inherit('default');
    expect(await content('default')).toEqual(Buffer.from('newer'));
    expect([existsSync(dead('older')), existsSync(dead('newer')), existsSync(dead('alive'))]).toEqual([
      false,
      false,
      true,
    ]);

    await leave('late', '2026-01-01T12:00:00.000Z', 'late');
    await new CheckpointStore(join(root, String(count), 'another'), silentLogger, { isOwn: false }).inherit('default');
    expect(existsSync(dead('late'))).toBe(true);
    await sweepCheckpoints(join(root, String(count)), silentLogger, -1);
    expect(existsSync(dead('late'))).toBe(false);
  });

  // Its named checkpoints stayed for 30 days, 2.3 GiB in nine of them, although no one could reach them.
  it('leaves no named checkpoints', async () => {
    await leave('dead', '2026-01-01T00:00:00.000Z', 'left');
    const own = new CheckpointStore(dead('dead'), silentLogger, { isOwn: false });
    await own.copy('default', 'default\nbefore');
    await own.noteCell('default', 9);
    const begun = await own.begin('default');
    onTestFinished(() => begun.discard());
    await sweepCheckpoints(join(root, String(count)), silentLogger, 60_000);
    expect(readdirSync(dead('dead'))).toHaveLength(4);
    await store.inherit('default');
    expect([await content('default'), await store.noted('default')]).toEqual([Buffer.from('left'), 9]);
  });

  it('is not taken over while another bridge has it', async () => {
    await leave('dead', '2026-01-01T00:00:00.000Z', 'left');
    await store.claim('default');
    await store.inherit('default');
    expect([await content('default'), existsSync(dead('dead'))]).toEqual([undefined, true]);
  });
});

describe('a claim', () => {
  it('is held by one, and free again afterwards', async () => {
    const claim = await store.claim('report');
    expect(await store.claim('report')).toEqual({ pid: process.pid });
    expect(await store.claim('other')).toHaveProperty('release');
    await (claim as { release: () => Promise<void> }).release();
    expect(await store.claim('report')).toHaveProperty('release');
  });

  it('of a process that is gone does not count, nor does a broken one', async () => {
    await store.claim('report');
    const [file = ''] = readdirSync(folder);
    const owner = JSON.parse(readFileSync(join(folder, file), 'utf8')) as object;
    writeFileSync(join(folder, file), JSON.stringify({ ...owner, started: '1' }));
    expect(await store.claim('report')).toHaveProperty('release');
    writeFileSync(join(folder, file), '{');
    expect(await store.claim('report')).toHaveProperty('release');
  });
});

describe('what no one comes back to', () => {
  it('goes when it is too old, of every principal, with its folders and the claims of processes that are gone', async () => {
    const stateDir = join(root, String(count));
    const gone = join(stateDir, 'http/principals/of-gone/checkpoints');
    const user = { folder: '/project', client: 'http' };
    const left = lastingStore(gone, user, silentLogger);
    await left.claim('report');
    const writer = await left.begin('report');
    await writer.write(DATA);
    await writer.commit(FACTS);
    const [name = ''] = readdirSync(gone);
    const age = () => {
      const old = new Date(Date.now() - 120_000);
      for (const file of readdirSync(join(gone, name))) {
        utimesSync(join(gone, name, file), old, old);
      }
      utimesSync(join(gone, name), old, old);
    };
    age();
    // Its process lives.
    await sweepAllCheckpoints(stateDir, silentLogger, 60_000);
    const kept = [expect.stringMatching(/\.claim$/), expect.stringMatching(/\.removed$/), 'user.json'];
    expect(readdirSync(join(gone, name)).toSorted()).toEqual(kept);
    const claim = join(gone, name, readdirSync(join(gone, name)).find((file) => file.endsWith('.claim')) ?? '');
    writeFileSync(claim, JSON.stringify({ ...(JSON.parse(readFileSync(claim, 'utf8')) as object), started: '1' }));
    await sweepAllCheckpoints(stateDir, silentLogger, 60_000);
    expect(readdirSync(join(gone, name))).toHaveLength(3);
    for (let time = 0; time < 2; time += 1) {
      age();
      await sweepAllCheckpoints(stateDir, silentLogger, 60_000);
    }
    expect(readdirSync(gone)).toEqual([]);
  });
});
