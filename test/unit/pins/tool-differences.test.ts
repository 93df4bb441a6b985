import { expect, it } from 'vitest';
import { summarize } from '../../../src/features/pins/tool-differences.ts';

const warningsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ tool: `t${index}`, clause: `tool 't${index}' changed` }));

const of = (name: string, owner?: string) => ({ name, owner });

it('names one tool with its command, and several in one line with the command for all', () => {
  const remedy = 'To review and accept it, the user can run: mcp-server-code-execution-mode servers approve';
  expect(summarize(of('cat'), warningsOf(1))).toBe(`tool 't0' changed. ${remedy} cat t0`);
  expect(summarize(of('my cat'), warningsOf(2))).toBe(`tool 't0' changed; tool 't1' changed. ${remedy} 'my cat'`);
  const many = summarize(of('cat'), warningsOf(30));
  expect(many).toMatch(/^tool 't0' changed; .*tool 't4' changed; 25 more tools changed\. To review/);
  expect(many.endsWith(`${remedy} cat`)).toBe(true);
  expect(summarize(of('cat', 'alice'), warningsOf(1))).toMatch(/the operator can run: .* approve cat t0 --for alice$/);
});
