import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createLogger, silentLogger } from '../../../src/core/base/log.ts';
import { UsedServers, type UsedServersOptions } from '../../../src/features/prestart/used-servers.ts';

let stateDir: string;
let runs: number;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'bridge-used-'));
  runs = 0;
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
});

/** The memory as a new run of the bridge opens it. */
function open(options: Partial<UsedServersOptions> = {}): UsedServers {
  runs += 1;
  return new UsedServers({
    stateDir,
    user: () => ({ folder: '/project', client: 'client' }),
    run: `run ${runs}`,
    definitionOf: (name) => `hash of ${name}`,
    hasLogin: async () => false,
    // Nothing else here limits how slow the machine may be.
    closeLimitMs: 600_000,
    logger: silentLogger,
    ...options,
  });
}

/** A run in which these servers are called, one after another. */
async function use(names: readonly string[], options?: Partial<UsedServersOptions>): Promise<void> {
  const used = open(options);
  names.forEach((name) => used.note(name));
  await used.close();
}

const names = async (used = open()): Promise<string[]> => (await used.recent()).map(({ name }) => name);
const folder = (): string => join(stateDir, '.cache', 'prestart');
const files = (): string[] => readdirSync(folder()).filter((name) => name.endsWith('.jsonl'));

describe('used servers', () => {
  test('are remembered for the next run, the last used one first', async () => {
    await use(['a', 'b', 'a', 'c', 'b']);
    expect(await names()).toEqual(['b', 'c', 'a']);
    await use(['a']);
    expect(await names()).toEqual(['a', 'b', 'c']);
    expect(await open().recent()).toContainEqual({
      name: 'b',
      definition: 'hash of b',
      hadLogin: false,
      asksFirst: false,
    });
  });

  test('are those of the last five runs that used any', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      await use([name]);
      await use([]);
    }
    expect(await names()).toEqual(['f', 'e', 'd', 'c', 'b']);
  });

  test('are the last eight of one run', async () => {
    await use(Array.from({ length: 20 }, (_, index) => `server ${index}`));
    expect(await names()).toEqual([19, 18, 17, 16, 15, 14, 13, 12].map((index) => `server ${index}`));
  });

  test('belong to one client in one folder', async () => {
    await use(['a']);
    expect(await names(open({ user: () => ({ folder: '/other', client: 'client' }) }))).toEqual([]);
    expect(await names(open({ user: () => ({ folder: '/project', client: 'other' }) }))).toEqual([]);
  });

  test('write nothing before the first call, and nothing when they are read', async () => {
    const used = open();
    expect(await used.recent()).toEqual([]);
    await used.close();
    expect(readdirSync(stateDir)).toEqual([]);
  });

  test('are written at once when one is used for the first time, in a file that only the owner can read', async () => {
    const used = open();
    used.note('a');
    await expect.poll(() => names(), { timeout: 60_000 }).toEqual(['a']);
    const [file = ''] = files();
    expect(statSync(join(folder(), file)).mode & 0o777).toBe(0o600);
    await used.close();
  });

  test('keep the definition and the login of the last use', async () => {
    let definition = 'first';
    const used = open({ definitionOf: () => definition, hasLogin: async () => definition === 'second' });
    used.note('a');
    definition = 'second';
    used.note('a');
    await used.close();
    expect(await open().recent()).toEqual([{ name: 'a', definition: 'second', hadLogin: true, asksFirst: false }]);
  });

  test('are not noted if they are no longer configured', async () => {
    await use(['a'], { definitionOf: () => undefined });
    expect(readdirSync(stateDir)).toEqual([]);
  });

  test('stay marked as asking first, until the definition changes', async () => {
    await use(['a']);
    const used = open();
    used.noteQuestion('a', 'hash of a');
    await used.close();
    await use(['a', 'b']);
    expect(await open().recent()).toMatchObject([
      { name: 'b', asksFirst: false },
      { name: 'a', asksFirst: true },
    ]);
    await use(['a'], { definitionOf: () => 'another' });
    expect(await open().recent()).toMatchObject([{ name: 'a', asksFirst: false }, { name: 'b' }]);
  });

  test.each([
    ['half of it', (text: string) => text.slice(0, text.length / 2)],
    ['nothing', () => ''],
    ['another character', (text: string) => text.replace('hash', 'hush')],
    ['noise', () => '\0\n{}\n[[[\n'],
  ])('count as none if the file holds %s, and are remembered again', async (_, damage) => {
    await use(['a', 'b']);
    const [file = ''] = files();
    const path = join(folder(), file);
    writeFileSync(path, damage(readFileSync(path, 'utf8')));
    expect(await names()).toEqual([]);
    await use(['c']);
    expect(await names()).toEqual(['c']);
  });

  test('of concurrent runs are all kept', async () => {
    const open5 = Array.from({ length: 5 }, () => open());
    open5.forEach((used, index) => used.note(`server ${index}`));
    await Promise.all(open5.map((used) => used.close()));
    expect((await names()).toSorted()).toEqual([0, 1, 2, 3, 4].map((index) => `server ${index}`));
    expect(readdirSync(folder()).filter((name) => name.endsWith('.tmp') || name === 'lock')).toEqual([]);
  });

  test('do not delay the end of the bridge if a bridge that was killed left its lock', async () => {
    await use(['a']);
    const lock = join(folder(), 'lock');
    writeFileSync(lock, 'of another process');
    await use(['b'], { closeLimitMs: 100 });
    expect(await names()).toEqual(['a']);
    expect(readFileSync(lock, 'utf8')).toBe('of another process');
    rmSync(lock);
    await expect.poll(() => names(), { timeout: 60_000 }).toEqual(['b', 'a']);
  });

  test('that cannot be written are a line of the log at debug level', async () => {
    const log: string[] = [];
    writeFileSync(join(stateDir, '.cache'), 'a file');
    await use(['a'], { logger: createLogger('DEBUG', (line) => log.push(line)) });
    expect(log.join('\n')).toMatch(/DEBUG Cannot remember which servers are used: /);
  });
});
