/** The comparison as Markdown. */
import type { ComparisonRun, Effort } from './run.ts';

export function renderComparison({ definitions, tasks }: ComparisonRun): string {
  const rows = tasks.map(({ comparison: { code, direct }, task }) => {
    const cells = [task.title, pair(direct, code, 'turns'), pair(direct, code, 'written'), pair(direct, code, 'read')];
    return `| ${[...cells, times(direct, code), task.remark].join(' | ')} |`;
  });
  return [
    `Definitions in every conversation: ${format(definitions.direct)} tokens for the ${definitions.tools} tools of the three servers, ${definitions.code} for \`run_python\`.`,
    '',
    '| Task | Turns: direct, code | Tokens written | Tokens read | Time of calls | |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

function pair(direct: Effort, code: Effort, key: 'turns' | 'written' | 'read'): string {
  return `${format(direct[key])}, ${format(code[key])}`;
}

function times(direct: Effort, code: Effort): string {
  return `${Math.round(direct.ms)} ms, ${Math.round(code.ms)} ms`;
}

function format(value: number): string {
  return value.toLocaleString('en-US');
}
