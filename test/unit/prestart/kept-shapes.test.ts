import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import { createObservedResults } from '../../../src/core/calls/observed-results.ts';
import { createKeptShapes } from '../../../src/features/prestart/kept-shapes.ts';

const TOOL = { name: 'rows' };
const SCHEMA = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };

let stateDir: string;
let runs: number;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'bridge-shapes-'));
  runs = 0;
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
});

function open(folder = '/project') {
  runs += 1;
  const mask = (text: string): string => text.replaceAll('hunter2', '***');
  const user = () => ({ folder, client: '' });
  const memory = createKeptShapes({
    stateDir,
    user,
    run: `run ${runs}`,
    closeLimitMs: 600_000,
    mask,
    logger: silentLogger,
  });
  return { memory, observed: createObservedResults(memory) };
}

const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

async function use(tool: string, value: unknown, folder?: string): Promise<void> {
  const { memory, observed } = open(folder);
  observed.note('key', { name: tool }, {}, text(value));
  await memory.close();
}

// Each run had to make a call to see what it returns.
test('the shape of a result is known to later runs of the project, and to no other', async () => {
  await use('rows', { id: 1 });
  await use('other', ['x']);
  const { observed } = open();
  await observed.ready;
  expect(observed.schema('key', TOOL)).toEqual(SCHEMA);
  expect(observed.uses('key', TOOL)).toBe(1);
  expect(observed.schema('key', { name: 'other' })).toEqual({ type: 'array', items: { type: 'string' } });
  expect(observed.schema('changed definition', TOOL)).toBeUndefined();
  expect(observed.schema('key', { ...TOOL, outputSchema: {} })).toBeUndefined();
  const elsewhere = open('/elsewhere').observed;
  await elsewhere.ready;
  expect(elsewhere.schema('key', TOOL)).toBeUndefined();
});

test('what this run sees wins, and calls add up', async () => {
  await use('rows', { id: 1 });
  const { memory, observed } = open();
  await observed.ready;
  observed.note('key', TOOL, {}, text({ name: 'x' }));
  expect(observed.schema('key', TOOL)).toMatchObject({ required: ['name'] });
  await memory.close();
  const later = open().observed;
  await later.ready;
  expect(later.uses('key', TOOL)).toBe(2);
});

test('no value of a result is kept, and no shape with a secret', async () => {
  await use('rows', { id: 'private value' });
  await use('secrets', { hunter2: 1 });
  const folder = join(stateDir, '.cache', 'prestart');
  const written = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('');
  expect(written).toContain('"id"');
  expect(written).not.toMatch(/private value|hunter2/);
});

const manyKeys = () => Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`a_long_name_${index}`, 1]));

test('the number of tools and the size of a shape are limited', async () => {
  const { memory, observed } = open();
  for (let index = 0; index < 300; index += 1) {
    observed.note('key', { name: `tool${index}` }, {}, text({ id: index }));
  }
  observed.note(
    'key',
    { name: 'large' },
    {},
    text(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`group_${index}`, manyKeys()]))),
  );
  await memory.close();
  const later = open();
  expect(await later.memory.load()).toHaveLength(200);
  await later.observed.ready;
  expect(later.observed.schema('key', { name: 'tool299' })).toBeDefined();
  expect(later.observed.schema('key', { name: 'tool0' })).toBeUndefined();
  expect(later.observed.schema('key', { name: 'large' })).toBeUndefined();
});
