/** Tasks that outlive the process that ran them. */
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { KeptTasks } from '../../../src/core/session/kept-tasks.ts';

const DAY_MS = 86_400_000;
const root = mkdtempSync(join(tmpdir(), 'bridge-test-kept-'));
afterAll(() => rmSync(root, { recursive: true }));

const setUp = () => {
  const folder = mkdtempSync(join(root, 'state-'));
  return { folder, tasks: join(folder, 'tasks'), open: () => new KeptTasks(folder) };
};
const taskOf = (state: unknown) => ({ createdAt: Date.now(), changedAt: Date.now(), state });
const endAllProcesses = (tasks: string) =>
  readdirSync(tasks)
    .filter((name) => name.endsWith('.claim'))
    .forEach((name) => writeFileSync(join(tasks, name), '{}'));

it('another process reads the task, and whether the first one lives', async () => {
  const { open, tasks } = setUp();
  const first = open();
  await first.write('../x', taskOf('working'));
  expect(await first.read('../x')).toMatchObject({ state: 'working', isElsewhere: false });
  expect(await open().read('../x')).toMatchObject({ state: 'working', isElsewhere: true });
  await first.write('../x', taskOf({ result: 1 }));
  endAllProcesses(tasks);
  expect(await open().read('../x')).toMatchObject({ state: { result: 1 }, isElsewhere: false });
  expect(await open().read('y')).toBeUndefined();
});

it('one that is too old, damaged or too large is not there', async () => {
  const { open, tasks } = setUp();
  const kept = open();
  await kept.write('old', { ...taskOf(1), createdAt: Date.now() - DAY_MS - 1 });
  expect(await kept.read('old')).toBeUndefined();
  const name = readdirSync(tasks).find((one) => one.endsWith('.task')) ?? '';
  writeFileSync(join(tasks, name), '{');
  expect(await kept.read('old')).toBeUndefined();
  await expect(kept.write('large', taskOf('x'.repeat(17 * 1024 * 1024)))).rejects.toThrow('too large');
  // The next one is written nonetheless.
  await kept.write('small', taskOf(1));
  expect(await kept.read('small')).toMatchObject({ state: 1 });
});

it('keeps 64 of at most 64 MiB, the newest, and removes what has expired', async () => {
  const { open, tasks } = setUp();
  const kept = open();
  const files = () => readdirSync(tasks).filter((name) => name.endsWith('.task'));
  for (let index = 0; index < 70; index += 1) {
    await kept.write(`task ${index}`, taskOf(index));
  }
  expect(files()).toHaveLength(64);
  expect(await kept.read('task 69')).toMatchObject({ state: 69 });
  const text = 'x'.repeat(15 * 1024 * 1024);
  for (let index = 0; index < 6; index += 1) {
    await kept.write(`large ${index}`, taskOf(text));
  }
  expect(files().length).toBeLessThanOrEqual(4);
  expect((await kept.read('large 5'))?.state).toBe(text);
  const long = new Date(Date.now() - DAY_MS - 1);
  files().forEach((name) => utimesSync(join(tasks, name), long, long));
  await kept.write('new', taskOf(1));
  expect(files()).toHaveLength(1);
  files().forEach((name) => utimesSync(join(tasks, name), long, long));
  await open().sweep();
  expect(files()).toEqual([]);
});
