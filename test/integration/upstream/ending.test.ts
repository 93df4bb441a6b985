// Tags: full, user-release
/** Nothing of a server is left after close, after a crash, or after the bridge itself is killed. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { UpstreamDefinition } from '../../../src/edges/upstream/pool.ts';
import {
  callText,
  definitions,
  failureOf,
  fixtureServer,
  isRunning,
  startPool,
  until,
} from '../../support/upstream.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PROGRAM = join(ROOT, 'test', 'fixtures', 'servers', 'bridge-to-kill.ts');

function killAtEnd(pid: number): void {
  onTestFinished(() => {
    if (isRunning(pid)) {
      process.kill(pid, 'SIGKILL');
    }
  });
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
}

describe('close', () => {
  it('ends servers gracefully, or by force if they ignore it, within 5 s', async () => {
    const pool = startPool({
      echo: fixtureServer('echo'),
      stubborn: fixtureServer('ignores-eof'),
      parent: fixtureServer('grandchild'),
    });
    await Promise.all(['echo', 'stubborn', 'parent'].map((name) => pool.describe(name)));
    const pids = pool.states().map((state) => state.pid ?? 0);
    pids.push(Number(await callText(pool, 'parent', 'grandchild_pid')));
    pids.forEach(killAtEnd);
    expect(pids.every(isRunning)).toBe(true);
    const started = performance.now();
    await pool.close();
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it('aborts a start, fails calls in flight and refuses later ones', async () => {
    const pool = startPool({
      silent: fixtureServer('never-answers', 'initialize'),
      hang: fixtureServer('never-answers'),
    });
    await pool.describe('hang');
    const starting = failureOf(pool.describe('silent'));
    const hanging = failureOf(pool.callTool({ server: 'hang', tool: 'hang', arguments: {} }));
    await pool.close();
    expect((await starting).code).toBe('CALL_CANCELLED');
    expect((await hanging).code).toBe('SERVER_EXITED');
    const late = await failureOf(pool.callTool({ server: 'hang', tool: 'echo', arguments: {} }));
    expect(late.message).toContain('it is being stopped');
    expect(pool.states().map((state) => state.pid)).toEqual([undefined, undefined]);
  });
});

it('ends a starting server whose entry was removed', async () => {
  const pool = startPool({ silent: fixtureServer('never-answers', 'initialize') });
  const starting = failureOf(pool.callTool({ server: 'silent', tool: 'x', arguments: {}, timeoutMs: 200 }));
  expect((await starting).code).toBe('CALL_TIMEOUT');
  expect(pool.states()[0]?.state).toBe('starting');
  const before = childrenOf(process.pid);
  pool.update(new Map());
  await until(() => childrenOf(process.pid).length < before.length);
});

it('ends the children of a server that crashes', async () => {
  const pool = startPool({ parent: fixtureServer('grandchild') });
  const grandchild = Number(await callText(pool, 'parent', 'grandchild_pid'));
  killAtEnd(grandchild);
  expect((await failureOf(pool.callTool({ server: 'parent', tool: 'crash', arguments: {} }))).code).toBe(
    'SERVER_EXITED',
  );
  await until(() => !isRunning(grandchild));
});

/** A bridge in a separate process, with the process ids of its servers. */
async function startBridge(servers: Map<string, UpstreamDefinition>): Promise<{ kill: () => void; pids: number[] }> {
  const child = spawn(
    process.execPath,
    ['--import', './scripts/typescript-loader.mjs', PROGRAM, JSON.stringify([...servers])],
    {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout })) {
    const pids = JSON.parse(line) as number[];
    pids.forEach(killAtEnd);
    return { kill: () => child.kill('SIGKILL'), pids };
  }
  throw new Error('the bridge ended before it was ready');
}

it('leaves no server behind when the bridge is killed with SIGKILL', async () => {
  const { kill, pids } = await startBridge(
    definitions({
      echo: fixtureServer('echo'),
      stubborn: fixtureServer('ignores-eof'),
      second: fixtureServer('ignores-eof'),
      parent: fixtureServer('grandchild'),
    }),
  );
  expect(pids.filter(isRunning)).toHaveLength(4);
  kill();
  await until(() => !pids.some(isRunning));
});
