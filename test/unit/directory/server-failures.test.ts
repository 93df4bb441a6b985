import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { CancelSource } from '../../../src/core/base/cancel.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { createServerFailures } from '../../../src/core/directory/server-failures.ts';
import { createMetadataSource } from '../../../src/core/directory/server-metadata.ts';

const HASH = 'a'.repeat(64);
const SERVER = { name: 'x', definitionHash: HASH };
const BROKEN = new BridgeError('SERVER_START_FAILED', "server 'x' ended; last lines of its stderr:\n  why", {
  hint: 'Fix it.',
});
const { signal } = new CancelSource();
let stateDir: string;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'bridge-failures-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
});

/** The failures as a new run of the program reads them. */
const failures = () => createServerFailures({ stateDir, logger: silentLogger });

describe('failures of servers', () => {
  test('are kept for the next run, with one line of the reason, until the server answers', async () => {
    await failures().note(SERVER, BROKEN, []);
    expect(await failures().load(SERVER)).toEqual({
      code: 'SERVER_START_FAILED',
      message: "server 'x' ended",
      hint: 'Fix it.',
      at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(await failures().load({ name: 'x', definitionHash: 'b'.repeat(64) })).toBeUndefined();
    await failures().forget(HASH);
    expect(await failures().load(SERVER)).toBeUndefined();
  });

  test('name the entry that is asked about, because entries that start the same server share a failure', async () => {
    await failures().note(SERVER, BROKEN, []);
    expect(await failures().load({ name: 'y $&', definitionHash: HASH })).toMatchObject({
      message: "server 'y $&' ended",
      hint: null,
    });
  });

  test('are not kept if the caller gave up, if the server was not asked again yet, or with a secret in them', async () => {
    await failures().note(SERVER, new BridgeError('CALL_CANCELLED', 'stopped'), []);
    await failures().note(
      SERVER,
      new BridgeError('SERVER_START_FAILED', 'again in 2 s', { data: { retry_in_seconds: 2 } }),
      [],
    );
    await failures().note(SERVER, new BridgeError('SERVER_START_FAILED', 'key sk-1234 refused'), ['sk-1234']);
    expect(await failures().load(SERVER)).toBeUndefined();
    expect(readdirSync(stateDir)).toEqual([]);
  });

  test('are ignored if their file is damaged', async () => {
    await failures().note(SERVER, BROKEN, []);
    const folder = join(stateDir, '.cache', 'failures');
    const file = join(folder, readdirSync(folder).find((name) => name.endsWith('.jsonl')) ?? '');
    writeFileSync(file, readFileSync(file, 'utf8').replace('ended', 'extended'));
    expect(await failures().load(SERVER)).toBeUndefined();
  });

  test('are noted when the server fails, and forgotten when it answers', async () => {
    let isBroken = true;
    const listing = { info: {}, tools: [], notices: [] };
    const describeServer = () => (isBroken ? Promise.reject(BROKEN) : Promise.resolve(listing));
    const source = createMetadataSource(
      { describe: describeServer },
      { load: async () => undefined, save: async () => undefined, remove: async () => undefined },
      failures(),
    );
    await expect(source.current(SERVER, signal)).rejects.toBe(BROKEN);
    await source.flush();
    expect(await failures().load(SERVER)).toMatchObject({ message: "server 'x' ended" });
    isBroken = false;
    await source.current(SERVER, signal);
    await source.flush();
    expect(await failures().load(SERVER)).toBeUndefined();
  });
});
