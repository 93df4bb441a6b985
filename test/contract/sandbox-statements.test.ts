/** Each field of a frame from a sandbox stands in `docs/internals/host-guarantees.md`, with what it can decide. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SandboxFrameSchema, SupervisorReportSchema } from '../../src/protocol/frames.ts';

const TEXT = readFileSync(new URL('../../docs/internals/host-guarantees.md', import.meta.url), 'utf8');
const SECTION = TEXT.slice(TEXT.indexOf('## What a sandbox says about itself'));

it('every field of a frame or a report from a sandbox is classified, and no other', () => {
  const frames = SandboxFrameSchema.options.flatMap(({ shape }) => fieldsOf(shape.type.value, shape));
  const reports = SupervisorReportSchema.options.flatMap(({ shape }) => fieldsOf(shape.report.value, shape));
  const [table = ''] = SECTION.split('Some parameters of calls');
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  const listed = rows.flatMap((row) => row.split('|')[1]?.match(/[a-z_]+\.[a-z0-9_]+/g) ?? []);
  expect(listed.toSorted()).toEqual([...frames, ...reports].toSorted());
  expect(listed.length).toBeGreaterThan(40);
});

function fieldsOf(kind: string, shape: object): string[] {
  return Object.keys(shape).flatMap((key) => (key === 'type' || key === 'report' ? [] : `${kind}.${key}`));
}
