import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import { createModulesAhead } from '../../../src/features/prestart/modules-ahead.ts';
import { UsedServers } from '../../../src/features/prestart/used-servers.ts';
import { begunCell, SUCCESS, watchedRun } from '../../support/watched-run.ts';

const CELL = { session: 'default', generation: 1, cell: 1 };

let stateDir: string;
let runs: number;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'bridge-modules-'));
  runs = 0;
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
});

function memory(client = 'client') {
  runs += 1;
  const user = () => ({ folder: '/project', client });
  return { stateDir, user, run: `run ${runs}`, closeLimitMs: 600_000, logger: silentLogger };
}

const open = (client?: string) => createModulesAhead('recent', memory(client));

function endCell(ahead: ReturnType<typeof open>, ...imported: readonly string[]): void {
  watchedRun(ahead.watch).end(begunCell(CELL), { ...SUCCESS, imported });
}

/** A run in which a cell imports these modules. */
async function use(...imported: readonly string[]): Promise<void> {
  const ahead = open();
  endCell(ahead, ...imported);
  await ahead.close();
}

describe('modules that are imported ahead', () => {
  test('are those that cells have imported, at once and in the next run, what others need first', async () => {
    const ahead = open();
    endCell(ahead, 'pandas');
    endCell(ahead, 'matplotlib.pyplot', 'numpy');
    expect(await ahead.modules()).toEqual(['numpy', 'pandas', 'matplotlib.pyplot']);
    await ahead.close();
    expect(await open().modules()).toEqual(['numpy', 'pandas', 'matplotlib.pyplot']);
  });

  test('are only known ones, whatever a sandbox says', async () => {
    await use('helpers', 'os', 'antigravity', 'numpy; import os', '__main__');
    expect(readdirSync(stateDir)).toEqual([]);
    expect(await open().modules()).toEqual([]);
  });

  test('are at most twelve, those that were used last', async () => {
    await use('numpy', 'yaml', 'requests');
    await use(
      'httpx',
      'bs4',
      'lxml.etree',
      'PIL.Image',
      'pydantic',
      'sympy',
      'networkx',
      'scipy',
      'pyarrow',
      'pandas',
      'numpy',
    );
    const modules = await open().modules();
    expect(modules).toHaveLength(12);
    expect(modules).not.toContain('yaml');
  });

  test('are forgotten when none of the last five runs that imported any has used them', async () => {
    await use('polars');
    for (let run = 0; run < 5; run += 1) {
      await use('numpy');
      await use();
    }
    expect(await open().modules()).toEqual(['numpy']);
  });

  test('belong to one client in one folder', async () => {
    await use('numpy');
    expect(await open('other').modules()).toEqual([]);
  });

  test('are kept beside the servers of the same client', async () => {
    await use('numpy');
    const servers = new UsedServers({ ...memory(), definitionOf: (name) => name, hasLogin: async () => false });
    servers.note('github');
    await servers.close();
    expect(await servers.recent()).toMatchObject([{ name: 'github' }]);
    expect(await open().modules()).toEqual(['numpy']);
  });

  test('are those of the setting, which learns nothing', async () => {
    const named = createModulesAhead(['seaborn', 'own.module'], memory());
    endCell(named, 'numpy');
    await named.close();
    expect(await named.modules()).toEqual(['seaborn', 'own.module']);
    expect(readdirSync(stateDir)).toEqual([]);
  });
});
