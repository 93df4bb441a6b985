import { expect, it } from 'vitest';
import { summarize } from '../../../src/pins/tool-differences.ts';

const newsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ tool: `t${index}`, clause: `tool 't${index}' changed` }));

it('tells of one tool with the command for it, and of many in one line with the command for all', () => {
  const remedy = 'A person can look at it and accept it: mcp-server-code-execution-mode servers approve';
  expect(summarize('cat', newsOf(1))).toBe(`tool 't0' changed. ${remedy} cat t0`);
  expect(summarize('my cat', newsOf(2))).toBe(`tool 't0' changed; tool 't1' changed. ${remedy} 'my cat'`);
  const many = summarize('cat', newsOf(30));
  expect(many).toMatch(/^tool 't0' changed; .*tool 't4' changed; 25 more tools changed\. A person/);
  expect(many.endsWith(`${remedy} cat`)).toBe(true);
});
