/** Each field of a frame from a sandbox is in `sandbox-statements.md`, with what it can decide. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SandboxFrameSchema, SupervisorReportSchema } from '../../src/core/protocol/frames.ts';

const TEXT = readFileSync(new URL('sandbox-statements.md', import.meta.url), 'utf8');

it('every field of a frame or a report from a sandbox is classified, and no other', () => {
  const frames = SandboxFrameSchema.options.flatMap(({ shape }) => fieldsOf(shape.type.value, shape));
  const reports = SupervisorReportSchema.options.flatMap(({ shape }) => fieldsOf(shape.report.value, shape));
  const [table = ''] = TEXT.split('Some parameters of calls');
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  const listed = rows.flatMap((row) => row.split('|')[1]?.match(/[a-z_]+\.[a-z0-9_]+/g) ?? []);
  expect(listed.toSorted()).toEqual([...frames, ...reports].toSorted());
  expect(listed.length).toBeGreaterThan(40);
});

function fieldsOf(kind: string, shape: object): string[] {
  return Object.keys(shape).flatMap((key) => (key === 'type' || key === 'report' ? [] : `${kind}.${key}`));
}
