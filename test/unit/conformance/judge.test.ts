/** The judge of the conformance runs, on recorded results of the suite. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ExpectedFailures, readExpectedFailures } from '../../conformance/expected-failures.ts';
import { judge, type Run, staleEntries } from '../../conformance/judge.ts';

function recorded(name: string): Run {
  return JSON.parse(readFileSync(new URL(`../../fixtures/conformance/${name}.json`, import.meta.url), 'utf8')) as Run;
}

/** A table that expects the given number of scenarios and passed checks of `run`, and the given failures. */
function tableFor(
  { role, revision, scenarios }: Run,
  passed: number,
  checks: Record<string, string[]> = {},
  clientErrors: string[] = [],
): ExpectedFailures {
  return {
    runs: { [`${role} ${revision}`]: { scenarios: scenarios.length, passed } },
    failures: [{ role, checks, reason: 'for this test' }],
    clientErrors: { reason: 'for this test', scenarios: clientErrors },
  };
}

/** The run with the results of one scenario replaced. */
function withResult(run: Run, scenario: string, changes: Partial<Run['results'][number]>): Run {
  return { ...run, results: run.results.map((one) => (one.scenario === scenario ? { ...one, ...changes } : one)) };
}

describe('the ends of clients', () => {
  const hung = recorded('every-client-timed-out');
  const done: Run = { ...hung, results: hung.results.map((one) => ({ ...one, end: { how: 'exited', exitCode: 0 } })) };

  // The suite called this run passed: its clients had done everything before they hung.
  it('fail every scenario when every client timed out, though every check passed', () => {
    const { passed, problems } = judge(hung, tableFor(hung, 39));
    expect(passed).toBe(39);
    expect(problems).toEqual(
      hung.scenarios.map((scenario) => `${scenario}: the client was still running after 12000 ms`),
    );
  });

  it('are no problem when every client ended with success', () => {
    expect(judge(done, tableFor(done, 39))).toEqual({ passed: 39, listed: 0, problems: [] });
  });

  it.each([
    [{ how: 'killed', signal: 'SIGSEGV' }, 'the client was killed by SIGSEGV'],
    [{ how: 'exited', exitCode: 3 }, 'the client ended with exit code 3'],
    [undefined, 'no client was started'],
  ] as const)('fail a scenario: %o', (end, sentence) => {
    const run = withResult(done, 'initialize', { end });
    expect(judge(run, tableFor(run, 39)).problems).toEqual([`initialize: ${sentence}`]);
  });

  it('fail a scenario in which the client must refuse and does not', () => {
    const table = tableFor(done, 39, {}, ['initialize']);
    expect(judge(done, table).problems).toEqual(['initialize: the client did not fail, though it must']);
    expect(judge(withResult(done, 'initialize', { end: { how: 'exited', exitCode: 1 } }), table).problems).toEqual([]);
    const hanging = withResult(done, 'initialize', { end: { how: 'timed out', limitMs: 5 } });
    expect(judge(hanging, table).problems).toEqual(['initialize: the client was still running after 5 ms']);
  });
});

describe('checks', () => {
  const run = recorded('server-run');
  const failures = {
    'server-session-lifecycle': ['no checks'],
    'server-sse-polling': ['server-sse-polling-session', 'server-sse-priming-event', 'server-sse-retry-field'],
    'tools-call-image': ['tools-call-image'],
  };

  it('may fail when they are listed', () => {
    expect(judge(run, tableFor(run, 4, failures))).toEqual({ passed: 4, listed: 5, problems: [] });
  });

  it('that fail, warn or are not there are problems when they are not listed', () => {
    expect(judge(run, tableFor(run, 4)).problems).toEqual([
      'server-session-lifecycle: no checks: it checked nothing',
      'server-sse-polling: server-sse-polling-session: WARNING',
      expect.stringContaining(
        'server-sse-polling: server-sse-priming-event: WARNING: Server did not send priming event',
      ),
      expect.stringContaining('server-sse-polling: server-sse-retry-field: WARNING: '),
      expect.stringContaining(
        'tools-call-image: tools-call-image: FAILURE: Failed: Unknown tool: "test_image_content"',
      ),
    ]);
  });

  it('that are listed and pass are problems', () => {
    const table = tableFor(run, 4, { ...failures, 'tools-list': ['tools-list'] });
    expect(judge(run, table).problems).toEqual(['tools-list: tools-list is listed as failing, but does not fail']);
  });

  it('are listed for one role and for the named revisions', () => {
    const table = tableFor(run, 4, failures);
    const problemsOf = (changes: object): number =>
      judge(run, { ...table, failures: table.failures.map((group) => ({ ...group, ...changes })) }).problems.length;
    expect(problemsOf({ role: 'client' })).toBe(5);
    expect(problemsOf({ revisions: ['2026-07-28'] })).toBe(5);
    expect(problemsOf({ revisions: ['2025-11-25'] })).toBe(0);
  });

  it('that share an id are told apart by their names', () => {
    const headers = recorded('shared-ids');
    const { problems, passed } = judge(headers, tableFor(headers, 3));
    expect(passed).toBe(3);
    expect(problems).toHaveLength(8);
    expect(problems[0]).toContain(
      'sep-2243-client-includes-standard-headers/ClientMcpMethodHeader_initialize: SKIPPED',
    );
  });
});

describe('what the suite ran', () => {
  const run = recorded('server-run');
  const [first, ...rest] = run.results;
  const table = tableFor(run, 4, {
    'server-session-lifecycle': ['no checks'],
    'server-sse-polling': ['server-sse-polling-session', 'server-sse-priming-event', 'server-sse-retry-field'],
    'tools-call-image': ['tools-call-image'],
  });

  it.each([
    ['a scenario is missing', { results: rest }, 'tools-list: it has no result'],
    ['a scenario ran twice', { results: [...run.results, ...run.results.slice(0, 1)] }, 'tools-list: it ran 2 times'],
    ['nothing ran', { results: [] }, 'tools-list: it has no result'],
    ['a scenario wrote no checks', { results: [{ ...first, checks: undefined }, ...rest] }, 'it has no result'],
    [
      'there is a new scenario',
      { scenarios: [...run.scenarios, 'new'] },
      'the suite has 5 scenarios; the table says 4',
    ],
    ['a scenario is gone', { scenarios: run.scenarios.slice(1) }, 'the suite has 3 scenarios; the table says 4'],
    [
      'a scenario is unknown',
      { scenarios: run.scenarios.slice(1) },
      'tools-list: the suite ran it, but does not list it',
    ],
    ['the revision is new', { revision: '2027-01-01' }, 'the suite has 4 scenarios; the table says nothing'],
  ])('%s', (_, changes, problem) => {
    const { problems } = judge({ ...run, ...changes } as Run, table);
    expect(problems.join('\n')).toContain(problem);
  });

  it('fewer checks passed', () => {
    const fewer = withResult(run, 'tools-list', { checks: run.results[0]?.checks?.slice(1) });
    expect(judge(fewer, table).problems).toEqual(['3 checks passed; the table says 4']);
  });
});

it('an entry of the table that belongs to no run is a problem', () => {
  const run = recorded('server-run');
  const stale = (table: ExpectedFailures): string[] => staleEntries([run], table);
  const known = tableFor(run, 4, { 'tools-list': ['any'] });
  expect(stale(known)).toEqual([]);
  expect(stale(tableFor(run, 4, { 'tools-lisp': ['any'] }))).toEqual(['the table lists tools-lisp, which no run has']);
  expect(
    stale({ ...known, failures: known.failures.map((group) => ({ ...group, revisions: ['2026-07-28'] })) }),
  ).toHaveLength(1);
  expect(stale(tableFor(run, 4, {}, ['tools-list']))).toEqual(['the table lists tools-list, which no run has']);
});

it('docs/internals/testing.md has the figures of the table', () => {
  const runs = Object.values(readExpectedFailures().runs);
  const sum = (key: 'scenarios' | 'passed'): number => runs.reduce((all, run) => all + run[key], 0);
  const text = readFileSync(new URL('../../../docs/internals/testing.md', import.meta.url), 'utf8');
  expect(text).toContain(`${sum('scenarios')} scenarios, ${sum('passed')} checks pass`);
});

it('the table of the repository can be read, and lists nothing twice', () => {
  const { failures, runs } = readExpectedFailures();
  expect(Object.keys(runs)).toHaveLength(4);
  const listed = failures.flatMap(({ role, checks }) =>
    Object.entries(checks).flatMap(([scenario, names]) => names.map((name) => `${role} ${scenario} ${name}`)),
  );
  expect(listed.filter((one, index) => listed.indexOf(one) !== index)).toEqual([]);
});

it.each([
  ['no reason', 'runs: {}\nclientErrors: {reason: x, scenarios: []}\nfailures: []'],
  [
    'a scenario without a check',
    'runs: {}\nfailures: [{role: server, reason: twenty characters and more, checks: {a: []}}]',
  ],
])('a table is refused: %s', (_, text) => {
  expect(() => readExpectedFailures(text)).toThrow();
});
