// Tags: full, user-release
/** The guardian with real process groups. Tests close its stdin, as the kernel does when a bridge is killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLogger } from '../../../src/core/base/log.ts';
import { Guardian } from '../../../src/edges/upstream/guardian.ts';
import { isRunning, until } from '../../support/upstream.ts';

const STUBBORN = "process.on('SIGTERM', () => undefined); setInterval(() => undefined, 60_000); console.log('ready')";
const POLITE =
  "process.on('SIGTERM', () => process.exit(5)); setInterval(() => undefined, 60_000); console.log('ready')";

/** A separate process group, ended with the test. */
async function startGroup(code: string): Promise<{ group: number; child: ChildProcess }> {
  const child = spawn(process.execPath, ['-e', code], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return { group: child.pid ?? 0, child };
}

function startGuardian(): { guardian: Guardian; warnings: string[] } {
  const warnings: string[] = [];
  const guardian = new Guardian(createLogger('WARNING', (line) => warnings.push(line)));
  onTestFinished(() => guardian.close());
  return { guardian, warnings };
}

function shells(): number[] {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim();
  return children
    .split(' ')
    .map(Number)
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('/bin/sh'));
}

describe('the guardian', () => {
  it('ends watched groups, gracefully if possible, and no released one', async () => {
    const { guardian } = startGuardian();
    const [first, polite, released, last] = await Promise.all([STUBBORN, POLITE, STUBBORN, STUBBORN].map(startGroup));
    [first, polite, released, last].forEach((each) => guardian.watch(each?.group ?? 0));
    guardian.release(released?.group ?? 0);
    guardian.close();
    await until(() => ![first, last].some((each) => isRunning(each?.group ?? 0)));
    expect([polite?.child.exitCode, released?.child.exitCode, released?.child.signalCode]).toEqual([5, null, null]);
  });

  it('is one process that starts with the first group and ends with the bridge', async () => {
    const { guardian } = startGuardian();
    expect(shells()).toEqual([]);
    const { group } = await startGroup(STUBBORN);
    guardian.watch(group);
    guardian.watch(group);
    const [shell = 0] = shells();
    expect(shells()).toHaveLength(1);
    guardian.release(group);
    guardian.close();
    await until(() => !isRunning(shell));
    expect(isRunning(group)).toBe(true);
  });

  it('is replaced if it is killed, and the new one knows the earlier groups', async () => {
    const { guardian, warnings } = startGuardian();
    const before = await startGroup(STUBBORN);
    guardian.watch(before.group);
    process.kill(shells()[0] ?? 0, 'SIGKILL');
    await until(() => warnings.length > 0);
    expect(warnings[0]).toContain('the process that watches them ended');
    const after = await startGroup(STUBBORN);
    guardian.watch(after.group);
    guardian.close();
    await until(() => ![before, after].some(({ group }) => isRunning(group)));
  });
});
