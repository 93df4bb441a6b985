/** Results as Markdown. */
import type { EvalRun, TaskResult } from './run.ts';
import type { TaskEffort } from './transcript.ts';

const HEAD = ['Task', 'Right', 'Turns', 'Tokens written', 'Tokens read', 'Tokens sent over all turns', 'Time'];

/** One table; with several runs, each cell has a figure for each run, in their order. */
export function renderRuns(runs: readonly EvalRun[]): string {
  const first = runs[0]?.tasks ?? [];
  const rows = first.map(({ id, title }) => row(title, resultsOf(runs, id)));
  const totals = row(
    '**all**',
    runs.map(({ tasks }) => total(tasks)),
  );
  const names = runs.map(({ agent, mode }) => `${mode} (${agent})`).join(', ');
  const missing = [...new Set(runs.flatMap(({ notCovered }) => notCovered))].map((what) => `Not covered: ${what}.`);
  return [
    `Figures: ${names}.`,
    '',
    `| ${HEAD.join(' | ')} |`,
    `| ${HEAD.map(() => '---').join(' | ')} |`,
    ...rows,
    totals,
    ...runs.flatMap((run) => failuresOf(run)),
    ...(missing.length === 0 ? [] : ['', ...missing]),
  ].join('\n');
}

function failuresOf({ agent, mode, tasks }: EvalRun): string[] {
  const calls = tasks.flatMap((task) => task.calls ?? []);
  const count = calls.reduce((all, call) => all + call.count, 0);
  if (count === 0) {
    return [];
  }
  const failed = calls.map((call) => call.failed.length).filter((length) => length > 0);
  const all = failed.reduce((sum, length) => sum + length, 0);
  const percent = ((100 * all) / count).toFixed(1);
  const where = `${failed.length} of ${tasks.length} tasks`;
  return ['', `Failed calls, ${mode} (${agent}): ${all} of ${count} (${percent} %), in ${where}.`];
}

interface Column {
  readonly right: string;
  readonly effort: TaskEffort;
}

function resultsOf(runs: readonly EvalRun[], id: string): (Column | undefined)[] {
  return runs.map(({ tasks }) => {
    const result = tasks.find((task) => task.id === id);
    return result === undefined ? undefined : { right: result.isRight ? 'yes' : '**no**', effort: result.effort };
  });
}

function total(tasks: readonly TaskResult[]): Column {
  const sum = (key: keyof TaskEffort): number => tasks.reduce((all, { effort }) => all + effort[key], 0);
  const effort = {
    turns: sum('turns'),
    written: sum('written'),
    read: sum('read'),
    context: sum('context'),
    ms: sum('ms'),
    callMs: sum('callMs'),
  };
  return { right: `${tasks.filter(({ isRight }) => isRight).length} of ${tasks.length}`, effort };
}

function row(title: string, columns: readonly (Column | undefined)[]): string {
  const each = (show: (column: Column) => string): string =>
    columns.map((column) => (column === undefined ? '–' : show(column))).join('; ');
  const count = (key: 'context' | 'read' | 'turns' | 'written') =>
    each(({ effort }) => effort[key].toLocaleString('en-US'));
  const time = each(({ effort }) => `${(effort.ms / 1000).toFixed(1)} s`);
  const cells = [each(({ right }) => right), count('turns'), count('written'), count('read'), count('context'), time];
  return `| ${[title, ...cells].join(' | ')} |`;
}
