import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/core/base/log.ts';
import type { ServerMetadata } from '../../../src/core/catalog/known.ts';
import { createMetadataCache } from '../../../src/core/directory/metadata-cache.ts';
import { parseExact } from '../../../src/core/protocol/exact-json.ts';

const METADATA: ServerMetadata = {
  tools: [
    { name: 'read', description: 'Reads.', inputSchema: { properties: { ['__proto__']: { const: 'é\u2028' } } } },
    {
      name: 'big',
      description: '',
      inputSchema: parseExact('{"maximum":9007199254740993}') as Record<string, unknown>,
    },
  ],
  notices: ['cut'],
  instructions: 'Be kind.',
};
const HASH = 'a'.repeat(64);

let stateDir: string;
let directory: string;
let log: string[];

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'bridge-cache-'));
  directory = join(stateDir, '.cache', 'catalog');
  log = [];
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
});

/** The cache of a new bridge. */
const cache = () => createMetadataCache({ stateDir, logger: createLogger('WARNING', (line) => log.push(line)) });
const kept = () => readdirSync(directory).filter((name) => name.endsWith('.jsonl'));
const fileOf = (name = kept()[0]) => join(directory, name ?? 'none');

describe('what was kept', () => {
  test('is exact for the next bridge, and readable only for the owner', async () => {
    await cache().save(HASH, METADATA, []);
    const loaded = await cache().load(HASH);
    expect(JSON.stringify(loaded?.tools)).toBe(JSON.stringify(METADATA.tools));
    expect([loaded?.notices, loaded?.instructions]).toEqual([['cut'], 'Be kind.']);
    expect(readFileSync(fileOf(), 'utf8')).toContain('9007199254740993');
    expect([statSync(fileOf()).mode & 0o777, statSync(directory).mode & 0o777]).toEqual([0o600, 0o700]);
  });

  test('is not found for another definition, and reading writes nothing', async () => {
    expect(await cache().load(HASH)).toBeUndefined();
    expect(readdirSync(stateDir)).toEqual([]);
    await cache().save(HASH, METADATA, []);
    expect(await cache().load('b'.repeat(64))).toBeUndefined();
  });

  test('has a keyed hash as its name, so the definition cannot be guessed', async () => {
    await cache().save(HASH, METADATA, []);
    const [first] = kept();
    expect(first).not.toContain(HASH.slice(0, 8));
    rmSync(directory, { recursive: true });
    await cache().save(HASH, METADATA, []);
    expect(kept()).not.toEqual([first]);
  });

  // Each save once made its own key, and only files of the last key were found.
  test('is found if several were kept at once in a new directory', async () => {
    const bridge = cache();
    const hashes = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(hashes.map(async (hash) => bridge.save(hash, { ...METADATA, notices: [hash] }, [])));
    const next = cache();
    const loaded = await Promise.all(hashes.map(async (hash) => next.load(hash)));
    expect(loaded.map((metadata) => metadata?.notices)).toEqual(hashes.map((hash) => [hash]));
  });

  test('is not written if it contains a secret', async () => {
    await cache().save(HASH, { ...METADATA, instructions: 'Your token is "s3cr\n3t".' }, ['s3cr\n3t']);
    expect(await cache().load(HASH)).toBeUndefined();
  });

  test('is not written again if nothing changed', async () => {
    const bridge = cache();
    await bridge.save(HASH, METADATA, []);
    const before = statSync(fileOf()).ino;
    await bridge.save(HASH, { ...METADATA }, []);
    expect(statSync(fileOf()).ino).toBe(before);
    await bridge.save(HASH, { ...METADATA, notices: [] }, []);
    expect((await cache().load(HASH))?.notices).toEqual([]);
  });

  test('has several lines for 5,000 tools', async () => {
    const tools = Array.from({ length: 5_000 }, (_, number) => {
      return { name: `t${number}`, description: 'x'.repeat(100), inputSchema: {} };
    });
    await cache().save(HASH, { tools, notices: [] }, []);
    expect((await cache().load(HASH))?.tools).toEqual(tools);
    expect(readFileSync(fileOf(), 'utf8').split('\n').length).toBeGreaterThan(4);
  });
});

describe('a file that is', () => {
  test.each([
    ['empty', () => ''],
    ['cut', (text: string) => text.slice(0, text.length / 2)],
    ['without its last line end', (text: string) => text.slice(0, -1)],
    ['changed in one character', (text: string) => text.replace('Reads', 'Reeds')],
    ['of another version', (text: string) => text.replace('"format":2', '"format":999')],
    ['something else', () => 'null\n[]\n'],
    ['binary', () => '\0\ufffd\0'],
  ])('%s counts as missing and is written again', async (_, damage) => {
    await cache().save(HASH, METADATA, []);
    writeFileSync(fileOf(), damage(readFileSync(fileOf(), 'utf8')));
    const bridge = cache();
    expect(await bridge.load(HASH)).toBeUndefined();
    await bridge.save(HASH, METADATA, []);
    expect(await cache().load(HASH)).toEqual(METADATA);
    expect(log).toEqual([]);
  });

  test('a damaged key is replaced', async () => {
    await cache().save(HASH, METADATA, []);
    writeFileSync(join(directory, 'key'), 'abc');
    const bridge = cache();
    expect(await bridge.load(HASH)).toBeUndefined();
    await bridge.save(HASH, METADATA, []);
    expect(await cache().load(HASH)).toEqual(METADATA);
  });
});

test('two bridges that write at once leave a valid file', async () => {
  const [left, right] = [cache(), cache()];
  await Promise.all(
    Array.from({ length: 20 }, (_, round) => {
      const bridge = round % 2 === 0 ? left : right;
      return bridge.save(HASH, { ...METADATA, notices: [`round ${round}`] }, []);
    }),
  );
  expect((await cache().load(HASH))?.notices).toEqual([expect.stringMatching(/^round \d+$/)]);
  expect(readdirSync(directory).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});

test('a directory that cannot be created gives one warning', async () => {
  writeFileSync(join(stateDir, '.cache'), 'a file in its place');
  const bridge = cache();
  expect(await bridge.load(HASH)).toBeUndefined();
  await bridge.save(HASH, METADATA, []);
  await bridge.save(HASH, { ...METADATA, notices: [] }, []);
  expect(log).toEqual([expect.stringMatching(/Tool lists are not kept for the next start: .*\.cache/)]);
});

test('files that were long unused or half written are removed', async () => {
  await cache().save('old', METADATA, []);
  const old = fileOf();
  const yearsAgo = new Date(Date.now() - 400 * 24 * 60 * 60 * 1000);
  utimesSync(old, yearsAgo, yearsAgo);
  writeFileSync(join(directory, 'x.jsonl.1.tmp'), '');
  utimesSync(join(directory, 'x.jsonl.1.tmp'), yearsAgo, yearsAgo);
  utimesSync(join(directory, 'key'), yearsAgo, yearsAgo);
  await cache().save(HASH, METADATA, []);
  expect(readdirSync(directory)).toHaveLength(2);
  expect(await cache().load(HASH)).toEqual(METADATA);
});

test('a file in use is not removed, however old it is', async () => {
  await cache().save('old', METADATA, []);
  const yearsAgo = new Date(Date.now() - 400 * 24 * 60 * 60 * 1000);
  utimesSync(fileOf(), yearsAgo, yearsAgo);
  await cache().load('old');
  await cache().save(HASH, METADATA, []);
  expect(kept()).toHaveLength(2);
});
