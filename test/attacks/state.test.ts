// Tags: full, bubblewrap
/**
 * Attacks on the state directory, and bad luck with it: stale locks in a folder that is read-only; files that
 * are damaged, replaced by pipes, or too large; a folder of another user.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { amount, enginesForBridge, type ProgramEnd, runProgram } from '../support/attacks.ts';
import { CLI } from '../support/bridge-client.ts';
import { becomeUser, isRoot, ORDINARY_USER_ID } from '../support/ordinary-user.ts';

const engines = await enginesForBridge();
const TIME_LIMIT_MS = 25_000;

let folder: string;
let stateDir: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'attack-state-'));
  stateDir = join(folder, 'state');
  mkdirSync(stateDir);
  chmodSync(folder, 0o755);
});
afterEach(() => {
  chmodSync(stateDir, 0o700);
  rmSync(folder, { recursive: true });
});

interface Run {
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: number;
}

/** Runs the built command. */
function run(words: readonly string[], { env = {}, user }: Run = {}): Promise<ProgramEnd> {
  const own = { PATH: process.env['PATH'] ?? '', HOME: folder, ...env, MCP_BRIDGE_STATE_DIR: stateDir };
  const as = user === undefined || !isRoot ? [] : becomeUser(user);
  return runProgram([...as, process.execPath, CLI, ...words], { cwd: folder, env: own, timeout: TIME_LIMIT_MS });
}

describe('a read-only state directory', () => {
  // The command used one processor forever: the lock was too old, and could not be removed.
  it('with the lock of a process that is gone does not block a command', async () => {
    const lock = join(stateDir, '.servers.lock');
    writeFileSync(join(stateDir, 'servers.json'), JSON.stringify({ mcpServers: { one: { command: 'node' } } }));
    writeFileSync(lock, 'gone');
    utimesSync(lock, 0, 0);
    if (isRoot) {
      chownSync(stateDir, ORDINARY_USER_ID, ORDINARY_USER_ID);
    }
    chmodSync(stateDir, 0o555);
    const { isEnded, shown } = await run(['servers', 'disable', 'one'], { user: ORDINARY_USER_ID });
    expect(isEnded).toBe(true);
    expect(shown).toMatch(/^STATE_WRITE_FAILED: /);
  });
});

describe('a state directory of another user', () => {
  // What they put there is started as the user, and `doctor` said nothing about it.
  it.skipIf(!isRoot)('is a problem for doctor, unless that user is root', async () => {
    const text = 'belongs to another user, and what they put there runs as you';
    const env = { MCP_BRIDGE_RUNTIME: 'embedded' };
    chownSync(stateDir, ORDINARY_USER_ID, ORDINARY_USER_ID);
    chmodSync(stateDir, 0o777);
    expect((await run(['doctor'], { env, user: ORDINARY_USER_ID + 1 })).shown).toContain(text);
    expect((await run(['doctor'], { env, user: ORDINARY_USER_ID })).shown).not.toContain(text);
  });
});

describe.each(engines.filter(({ lacks }) => !lacks.includes('code packs')))('code packs on $label', ({ env }) => {
  const packs = () => join(stateDir, '.cache/python');
  const exec = () => run(['exec', '-c', 'print("it " + "runs")'], { env });

  /** Damages the only pack, after the bridge that writes it has ended; it does not wait for that. */
  async function damage(how: (file: string) => void): Promise<string> {
    for (;;) {
      await exec();
      const name = readdirSync(packs()).find((one) => one.endsWith('.pack'));
      if (name !== undefined) {
        how(join(packs(), name));
        return join(packs(), name);
      }
    }
  }

  const damages: [string, (file: string) => void][] = [
    ['damaged in the middle', (file) => writeFileSync(file, readFileSync(file).fill(0, 1_000_000, 2_000_000))],
    ['cut off', (file) => truncateSync(file, 1_000_000)],
    ['empty', (file) => truncateSync(file, 0)],
  ];
  // No sandbox of that image started any more, and nothing said why.
  it.each(damages.slice(0, amount(1, damages.length)))('that are %s are made again', async (_, how) => {
    const file = await damage(how);
    const damaged = readFileSync(file);
    while (readFileSync(file).equals(damaged)) {
      expect((await exec()).shown).toContain('it runs');
    }
  });

  it('that were not written completely are removed', async () => {
    const left = join(packs(), 'x.pack.tmp');
    mkdirSync(packs(), { recursive: true });
    writeFileSync(left, '');
    utimesSync(left, 0, 0);
    while (existsSync(left)) {
      expect((await exec()).shown).toContain('it runs');
      readdirSync(packs())
        .filter((name) => name.endsWith('.pack'))
        .forEach((name) => truncateSync(join(packs(), name)));
    }
  });

  it('that are pipes block nothing', async () => {
    await damage((file) => {
      rmSync(file);
      execFileSync('mkfifo', [file]);
    });
    expect(await exec()).toMatchObject({ isEnded: true, shown: expect.stringContaining('it runs') as unknown });
  });
});
