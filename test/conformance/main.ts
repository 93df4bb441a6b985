/**
 * `npm run lab -- conformance`: the official conformance suite against the bridge's server and its MCP client, for every revision
 * that the bridge speaks. Every failure must be listed with its reason in expected-failures.yml, and everything listed there
 * must fail.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { PATIENCE } from '../support/patience.ts';
import { serveBridge } from './bridge-over-http.ts';
import { bundleClient } from './bundle-client.ts';
import { createClientRunner } from './client-runner.ts';
import { readExpectedFailures } from './expected-failures.ts';
import { judge, type Role, staleEntries, type Verdict } from './judge.ts';
import { fetchSuite, readResults } from './suite.ts';

const ROLES = ['server', 'client'] as const;
const REVISIONS = ['2025-11-25', '2026-07-28'];
/** For the suite's own timeout, which includes the time that a client waits for its turn. */
const NEVER_MS = 3_600_000;
const STDERR_LINES = 15;

const work = mkdtempSync(join(tmpdir(), 'conformance-'));
const table = readExpectedFailures();
const [suite, clients, server] = await Promise.all([
  fetchSuite(),
  bundleClient(join(work, 'client.mjs')).then((script) =>
    createClientRunner({ folder: work, script, parallel: availableParallelism() }),
  ),
  serveBridge(work),
]);
const targets = {
  server: ['--url', server.url],
  client: ['--command', clients.command, '--timeout', String(NEVER_MS)],
} as const;

const verdicts = await Promise.all(ROLES.flatMap((role) => REVISIONS.map((revision) => runAndJudge(role, revision))));
clients.close();
await server.close();
rmSync(work, { recursive: true, force: true });

const sum = (count: (verdict: Verdict) => number): number => verdicts.reduce((all, one) => all + count(one), 0);
const stale = staleEntries(
  ROLES.flatMap((role) =>
    REVISIONS.map((revision) => ({ role, revision, scenarios: suite.scenarios(role, revision) })),
  ),
  table,
);
stale.forEach((problem) => console.log(problem));
const failed = sum(({ problems }) => problems.length) + stale.length;
console.log(
  `${sum(({ passed }) => passed)} passed, ${failed} failed, ${sum(({ listed }) => listed)} failed as listed in test/conformance/expected-failures.yml`,
);
process.exitCode = failed === 0 ? 0 : 1;

/** In CI, once more if there are problems: the machine is busy, and the suite's own servers have limits on time. */
async function runAndJudge(role: Role, revision: string): Promise<Verdict> {
  const first = await runOnce(role, revision, 'first');
  if (first.problems.length === 0 || PATIENCE === 1) {
    return first;
  }
  const again = await runOnce(role, revision, 'again');
  if (again.problems.length === 0) {
    console.log(`Passed when run again: conformance: ${role} ${revision}`);
  }
  return again;
}

async function runOnce(role: Role, revision: string, attempt: string): Promise<Verdict> {
  const results = join(work, role, revision, attempt);
  mkdirSync(results, { recursive: true });
  const log = join(results, 'output.txt');
  await suite.run([role, ...targets[role], '--requirements', revision, '--output-dir', results], work, log);
  const scenarios = suite.scenarios(role, revision);
  const verdict = judge(
    {
      role,
      revision,
      scenarios,
      results: readResults(role, results).map((result) => ({
        ...result,
        end: clients.outcomes.get(`${revision} ${result.scenario}`)?.end,
      })),
    },
    table,
  );
  const { passed, listed, problems } = verdict;
  console.log(
    `${role} ${revision}: ${scenarios.length} scenarios, ${passed} checks passed, ${listed} failed as listed, ${problems.length} problems`,
  );
  problems.forEach((problem) => console.log(`  ${problem}`));
  explain(revision, problems, log);
  return verdict;
}

/** Prints the stderr of the affected clients, or the output of the suite if it has no result. */
function explain(revision: string, problems: readonly string[], log: string): void {
  const scenarios = new Set(problems.map((problem) => problem.slice(0, problem.indexOf(': '))));
  for (const scenario of scenarios) {
    const { stderr = '' } = clients.outcomes.get(`${revision} ${scenario}`) ?? {};
    if (stderr !== '') {
      console.log(`  stderr of the client in ${scenario}:\n${stderr.split('\n').slice(0, STDERR_LINES).join('\n')}`);
    }
  }
  if (problems.some((problem) => problem.endsWith('it has no result'))) {
    console.log(`  output of the suite:\n${readFileSync(log, 'utf8')}`);
  }
}
