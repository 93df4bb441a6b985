/**
 * Decides whether a run of the conformance suite went as expected. The suite's exit code is not enough: it passes a scenario
 * whose client hung or crashed, or that checked nothing, and it ignores failures of optional features.
 */
import type { ExpectedFailures } from './expected-failures.ts';

export type Role = 'server' | 'client';

/** One entry of a `checks.json` of the suite, which has more fields. */
export interface Check {
  readonly id: string;
  readonly name?: string | undefined;
  readonly status: string;
  readonly errorMessage?: string | undefined;
}

/** How the process of a client ended. */
export type ClientEnd =
  | { readonly how: 'exited'; readonly exitCode: number }
  | { readonly how: 'killed'; readonly signal: string }
  | { readonly how: 'timed out'; readonly limitMs: number };

export interface ScenarioResult {
  readonly scenario: string;
  /** Undefined if the suite wrote none. */
  readonly checks: readonly Check[] | undefined;
  /** Undefined for server scenarios, and if no client was started. */
  readonly end?: ClientEnd | undefined;
}

export interface Run {
  readonly role: Role;
  readonly revision: string;
  /** Names of the suite's scenarios for this revision. */
  readonly scenarios: readonly string[];
  readonly results: readonly ScenarioResult[];
}

export interface Verdict {
  /** Checks that passed. */
  readonly passed: number;
  /** Checks that failed or were not made, as the table expects. */
  readonly listed: number;
  /** One sentence for each unexpected result; empty if the run is good. */
  readonly problems: readonly string[];
}

/** Marks a scenario that checks nothing in the table. */
export const NO_CHECKS = 'no checks';

export function judge(run: Run, table: ExpectedFailures): Verdict {
  const judged = run.scenarios.map((scenario) => judgeScenario(run, scenario, table));
  const passed = judged.reduce((sum, one) => sum + one.passed, 0);
  const problems = [
    ...judged.flatMap((one) => one.problems),
    ...run.results
      .filter(({ scenario }) => !run.scenarios.includes(scenario))
      .map(({ scenario }) => `${scenario}: the suite ran it, but does not list it`),
  ];
  const pinned = table.runs[`${run.role} ${run.revision}`];
  if (pinned?.scenarios !== run.scenarios.length) {
    problems.push(`the suite has ${run.scenarios.length} scenarios; the table says ${pinned?.scenarios ?? 'nothing'}`);
  }
  // If something else is wrong, the count would only repeat it.
  if (problems.length === 0 && pinned?.passed !== passed) {
    problems.push(`${passed} checks passed; the table says ${pinned?.passed ?? 'nothing'}`);
  }
  return { passed, listed: judged.reduce((sum, one) => sum + one.listed, 0), problems };
}

/** Entries of the table that match no scenario of any run, one sentence each. */
export function staleEntries(
  runs: readonly Pick<Run, 'role' | 'revision' | 'scenarios'>[],
  table: ExpectedFailures,
): string[] {
  const has = (scenario: string, isMeant: (run: Pick<Run, 'role' | 'revision'>) => boolean): boolean =>
    runs.some((run) => isMeant(run) && run.scenarios.includes(scenario));
  const unknown = [
    ...table.failures.flatMap(({ role, revisions, checks }) =>
      Object.keys(checks).filter(
        (scenario) => !has(scenario, (run) => run.role === role && (revisions?.includes(run.revision) ?? true)),
      ),
    ),
    ...table.clientErrors.scenarios.filter((scenario) => !has(scenario, ({ role }) => role === 'client')),
  ];
  return unknown.map((scenario) => `the table lists ${scenario}, which no run has`);
}

function judgeScenario({ role, revision, results }: Run, scenario: string, table: ExpectedFailures): Verdict {
  const [result, ...more] = results.filter((one) => one.scenario === scenario);
  const say = (problem: string): string => `${scenario}: ${problem}`;
  if (result?.checks === undefined || more.length > 0) {
    const problem = more.length > 0 ? `it ran ${more.length + 1} times` : 'it has no result';
    return { passed: 0, listed: 0, problems: [say(problem)] };
  }
  const failing = failingChecks(result.checks);
  const expected = new Set(
    table.failures
      .filter((group) => group.role === role && (group.revisions?.includes(revision) ?? true))
      .flatMap(({ checks }) => checks[scenario] ?? []),
  );
  const problems = [
    ...[...failing].filter(([key]) => !expected.has(key)).map(([key, why]) => say(`${key}: ${why}`)),
    ...[...expected]
      .filter((key) => !failing.has(key))
      .map((key) => say(`${key} is listed as failing, but does not fail`)),
    ...(role === 'client' ? judgeEnd(result.end, table.clientErrors.scenarios.includes(scenario)).map(say) : []),
  ];
  return {
    passed: result.checks.filter(({ status }) => status === 'SUCCESS').length,
    listed: [...failing.keys()].filter((key) => expected.has(key)).length,
    problems,
  };
}

/** Checks that did not pass, by their name in the table, with the suite's reason. */
function failingChecks(checks: readonly Check[]): Map<string, string> {
  const real = checks.filter(({ status }) => status !== 'INFO');
  if (real.length === 0) {
    return new Map([[NO_CHECKS, 'it checked nothing']]);
  }
  const isShared = (id: string): boolean => real.filter((check) => check.id === id).length > 1;
  return new Map(
    real
      .filter(({ status }) => status !== 'SUCCESS')
      .map(({ id, name, status, errorMessage }) => [
        isShared(id) ? `${id}/${name}` : id,
        errorMessage === undefined ? status : `${status}: ${errorMessage}`,
      ]),
  );
}

function judgeEnd(end: ClientEnd | undefined, errorExpected: boolean): string[] {
  switch (end?.how) {
    case undefined:
      return ['no client was started'];
    case 'timed out':
      return [`the client was still running after ${end.limitMs} ms`];
    case 'killed':
      return [`the client was killed by ${end.signal}`];
    case 'exited': {
      const failed = end.exitCode !== 0;
      if (failed === errorExpected) {
        return [];
      }
      return [failed ? `the client ended with exit code ${end.exitCode}` : 'the client did not fail, though it must'];
    }
  }
}
