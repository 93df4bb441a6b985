// @ts-check
/**
 * Runs checks and tests and counts the results: `node scripts/test.mjs` runs those that show in short whether a checkout works, and says
 * what it left out; `… all` runs all of them, `… check` those that need no engine and no build, `… lint unit`
 * the named stages, `… e2e -- leaks` passes what follows to vitest. A check (format, lint, types …) counts as one test. Every stage
 * runs, even if an earlier one failed. The last line is `N passed, N failed`, with `, N skipped` if any were.
 *
 * Failures are listed again at the end, each with the first line of its reason, because CI logs may keep only the end. What this
 * machine lacks is listed there too: a skipped test has a title that starts with `not covered: `. With
 * MCP_BRIDGE_TEST_REQUIRE_ENGINES=1, a missing engine or a missing Python is a failure.
 *
 * On a machine that runs several suites (MCP_BRIDGE_TEST_PATIENCE > 1), a few tests that failed are run again at the end of their
 * stage, without other tests of it. Those that pass then are named.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { findPython, UNITTEST_ARGUMENTS, UNITTEST_ENV } from '../test/tools/python.mjs';
import { filesWithTags } from '../test/tools/tags.mjs';

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */
/** @typedef {{ status: string, title: string, fullName: string, failureMessages?: string[] | null }} AssertionResult */
/**
 * The parts that are read here.
 * @typedef {{
 *   numPassedTests?: number, numFailedTests?: number, numPendingTests?: number, numTodoTests?: number,
 *   testResults?: { name: string, message?: string, assertionResults: AssertionResult[] }[],
 * }} VitestReport
 */

/**
 * `hasOtherTrouble`: a file that cannot be loaded, or an error outside of tests.
 * @typedef {{ exitCode: number, report: VitestReport, hasOtherTrouble: boolean }} VitestRun
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const loader = ['--import', './scripts/typescript-loader.mjs'];
const NOT_COVERED = 'not covered: ';
/** @type {Set<string>} */
const missing = new Set();
/**
 * Stage, name and first line of the reason.
 * @type {string[]}
 */
const failures = [];
const MAX_REASON_CHARS = 300;
/** More failures than that are not because the machine was busy for a moment. */
const MAX_RUN_AGAIN = 4;
/** An escape from the sandbox must not happen even once. */
const NEVER_AGAIN = /\/security\//;
const [stageNames, vitestArguments] = splitArguments(process.argv.slice(2));
const isRequired = process.env.MCP_BRIDGE_TEST_REQUIRE_ENGINES === '1';

/** @type {Record<string, () => Promise<Counts>>} */
const STAGES = {
  build: () => check(process.execPath, ['scripts/build.mjs']),
  // Biome creates a folder for its logs; without this it would be in the home.
  format: () =>
    check('biome', ['check', '--error-on-warnings'], { XDG_CACHE_HOME: join(root, 'node_modules', '.cache') }),
  lint: () => check('oxlint', []),
  types: async () => {
    const [bridge, page] = [await check('tsc', []), await check('tsc', ['--project', 'src/record/ui/page'])];
    return { passed: bridge.passed + page.passed, failed: bridge.failed + page.failed, skipped: 0 };
  },
  unused: () => check('knip', []),
  workflows: () => check(process.execPath, ['test/tools/workflows.mjs']),
  generated: () => check(process.execPath, [...loader, 'scripts/gen.ts', '--check']),
  'python-lint': () => check(process.execPath, ['test/tools/python-lint.mjs']),
  'python-types': () => check('basedpyright', ['--project', 'sandbox-runtime']),
  unit: () => vitest('unit*'),
  contract: () => vitest('contract'),
  fuzz: () => vitest('fuzz'),
  python: () => unittest(),
  integration: () => vitest('integration'),
  e2e: () => vitest('e2e'),
  faults: () => vitest('faults', ['--reporter=./test/support/faults/reporter.ts']),
  attacks: () => vitest('attacks'),
};
const NOT_IN_CHECK = ['build', 'integration', 'e2e', 'faults', 'attacks'];
/** The stages whose long files a short run leaves out, and whose tests it repeats on no second engine. */
const SHORTENED = ['contract', 'fuzz', 'integration', 'e2e', 'faults', 'attacks'];
/** What a short run sets, unless it is set. */
const SHORT_RUN = {
  MCP_BRIDGE_TEST_TAGS: '!full',
  MCP_BRIDGE_TEST_ENGINES: 'first',
  MCP_BRIDGE_TEST_FAULTS: 'quick',
  MCP_BRIDGE_TEST_FUZZ_RUNS: '20000',
};

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {Record<string, string>} [moreEnv]
 * @returns {Promise<Counts>}
 */
async function check(command, args, moreEnv) {
  const { exitCode } = await run(command, args, moreEnv);
  return exitCode === 0 ? { passed: 1, failed: 0, skipped: 0 } : { passed: 0, failed: 1, skipped: 0 };
}

/**
 * @param {string} project
 * @param {readonly string[]} more Options for vitest.
 * @returns {Promise<Counts>}
 */
async function vitest(project, more = []) {
  const first = await vitestOnce(project, [...more, ...vitestArguments]);
  const counts = atLeastOneFailure(first.exitCode, countTests(first.report));
  const failed = failedTests(first.report);
  const again = isWorthRunningAgain(first, failed) ? await runAgain(project, failed, more) : new Set();
  for (const result of first.report.testResults ?? []) {
    noteTroubles(project, result, again);
  }
  const titles = (first.report.testResults ?? []).flatMap(({ assertionResults }) =>
    assertionResults.map(({ title }) => title),
  );
  for (const title of titles.filter((name) => name.startsWith(NOT_COVERED))) {
    missing.add(title.slice(NOT_COVERED.length));
  }
  return { ...counts, passed: counts.passed + again.size, failed: counts.failed - again.size };
}

/**
 * @param {string} project
 * @param {readonly string[]} more Options for vitest.
 * @returns {Promise<VitestRun>}
 */
async function vitestOnce(project, more) {
  const folder = await mkdtemp(join(tmpdir(), 'bridge-test-'));
  const file = join(folder, 'report.json');
  const unhandled = join(folder, 'unhandled');
  const reporters = ['default', 'json', './test/support/retry-reporter.ts'].map((name) => `--reporter=${name}`);
  const options = ['--project', project, `--outputFile.json=${file}`, ...reporters, ...more];
  const { exitCode } = await run('vitest', ['run', ...options], { MCP_BRIDGE_TEST_UNHANDLED: unhandled });
  const text = await readFile(file, 'utf8').catch(() => '{}');
  const report = /** @type {VitestReport} */ (JSON.parse(text));
  const result = { exitCode, report, hasOtherTrouble: existsSync(unhandled) || hasBrokenFile(report) };
  await rm(folder, { recursive: true });
  return result;
}

/**
 * A file that cannot be loaded has a message but no tests.
 * @param {VitestReport} report
 */
function hasBrokenFile({ testResults = [] }) {
  return testResults.some(
    ({ message = '', assertionResults }) =>
      message !== '' && !assertionResults.some(({ status }) => status === 'failed'),
  );
}

/**
 * @param {VitestReport} report
 * @returns {Counts}
 */
function countTests({ numPassedTests = 0, numFailedTests = 0, numPendingTests = 0, numTodoTests = 0 }) {
  return { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests + numTodoTests };
}

/**
 * @param {VitestReport} report
 * @returns {{ file: string, name: string }[]}
 */
function failedTests({ testResults = [] }) {
  return testResults.flatMap(({ name: file, assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => ({ file, name: fullName })),
  );
}

/**
 * @param {VitestRun} result
 * @param {readonly { file: string }[]} failed
 */
function isWorthRunningAgain({ hasOtherTrouble }, failed) {
  const isBusy = Number(process.env.MCP_BRIDGE_TEST_PATIENCE ?? 1) > 1;
  const isFew = failed.length > 0 && failed.length <= MAX_RUN_AGAIN;
  return isBusy && isFew && !hasOtherTrouble && !failed.some(({ file }) => NEVER_AGAIN.test(file));
}

/**
 * @param {string} project
 * @param {readonly { file: string, name: string }[]} failed
 * @param {readonly string[]} more Options for vitest.
 * @returns {Promise<Set<string>>} Names of those that passed, each with its file.
 */
async function runAgain(project, failed, more) {
  console.log(`\n== ${project}: ${failed.length} again`);
  const names = failed.map(({ name }) => name.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&'));
  const files = [...new Set(failed.map(({ file }) => relative(root, file)))];
  const options = [...more, '--testNamePattern', `^(?:${names.join('|')})$`, ...files];
  const { report } = await vitestOnce(project, options);
  const passed = (report.testResults ?? []).flatMap(({ name: file, assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'passed').map(({ fullName }) => testKey(file, fullName)),
  );
  const wanted = failed.map(({ file, name }) => testKey(file, name));
  return new Set(passed.filter((key) => wanted.includes(key)));
}

/**
 * @param {string} file
 * @param {string} name
 */
function testKey(file, name) {
  return `${relative(root, file)}: ${name}`;
}

/**
 * @param {string} project
 * @param {NonNullable<VitestReport['testResults']>[number]} result One file of tests.
 * @param {ReadonlySet<unknown>} passedAgain Keys of tests that passed when they were run again.
 */
function noteTroubles(project, { name, message = '', assertionResults }, passedAgain) {
  const file = relative(root, name);
  const failed = assertionResults.filter(({ status }) => status === 'failed');
  for (const { fullName, failureMessages } of failed) {
    const reason = firstLine(`${project}: ${file}: ${fullName}: ${failureMessages?.[0] ?? ''}`);
    if (passedAgain.has(testKey(name, fullName))) {
      console.log(`Passed when run again: ${reason}`);
    } else {
      failures.push(reason);
    }
  }
  // A file that cannot be loaded has a message but no tests.
  if (failed.length === 0 && message !== '') {
    failures.push(firstLine(`${project}: ${file}: ${message}`));
  }
}

/** @param {string} text */
function firstLine(text) {
  // Vitest's name for a test that timed out.
  const [line = ''] = text.replace('Error: STACK_TRACE_ERROR', 'it timed out').split('\n');
  return line.slice(0, MAX_REASON_CHARS);
}

/** @returns {Promise<Counts>} */
async function unittest() {
  const python = await findPython();
  if (python === undefined) {
    missing.add('tests in Python: no python3 >= 3.10 on PATH');
    return { passed: 0, failed: isRequired ? 1 : 0, skipped: 0 };
  }
  const { exitCode, stderr } = await run(python, UNITTEST_ARGUMENTS, UNITTEST_ENV);
  /** @param {RegExp} pattern */
  const number = (pattern) => Number(pattern.exec(stderr)?.[1] ?? 0);
  const failed = number(/\bfailures=(\d+)/) + number(/\berrors=(\d+)/) + number(/\bunexpected successes=(\d+)/);
  const skipped = number(/\bskipped=(\d+)/);
  const ran = number(/^Ran (\d+) tests?/m);
  for (const [, title, details] of stderr.matchAll(/^(?:FAIL|ERROR): (.+)\n-+\n([\s\S]*?)\n\n/gm)) {
    failures.push(`python: ${title}: ${details?.split('\n').at(-1)?.slice(0, MAX_REASON_CHARS) ?? ''}`);
  }
  return atLeastOneFailure(ran === 0 ? 1 : exitCode, { passed: Math.max(0, ran - failed - skipped), failed, skipped });
}

/**
 * A run can fail without a failing test: a file cannot be loaded, a warning occurs outside of tests, or there are no tests.
 * @param {number} exitCode
 * @param {Counts} counts
 * @returns {Counts}
 */
function atLeastOneFailure(exitCode, counts) {
  return exitCode !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

/**
 * Runs a program of this package or of its development dependencies, with our stdout and stderr.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {Record<string, string>} moreEnv
 * @returns {Promise<{ exitCode: number, stderr: string }>}
 */
async function run(command, args, moreEnv = {}) {
  const result = await execa(command, args, {
    cwd: root,
    env: moreEnv,
    // Prefers programs in node_modules; on Windows they are scripts that only a shell can start.
    preferLocal: true,
    localDir: root,
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: ['inherit', 'pipe'],
    reject: false,
  });
  if (result.exitCode === undefined) {
    console.error(result.message);
  }
  return { exitCode: result.exitCode ?? 1, stderr: result.stderr };
}

/**
 * @param {readonly string[]} given
 * @returns {[readonly string[], readonly string[]]}
 */
function splitArguments(given) {
  const at = given.includes('--') ? given.indexOf('--') : given.length;
  return [given.slice(0, at), given.slice(at + 1)];
}

/**
 * @param {readonly string[]} named
 * @returns {string[]}
 */
function chooseStages(named) {
  const all = Object.keys(STAGES);
  const chosen = named.flatMap((name) => {
    if (name === 'all') {
      return all;
    }
    return name === 'check' ? all.filter((stage) => !NOT_IN_CHECK.includes(stage)) : name;
  });
  const unknown = chosen.find((stage) => !all.includes(stage));
  if (unknown !== undefined) {
    console.error(`Unknown stage "${unknown}"; use all, check, ${all.join(', ')}.`);
    process.exit(64);
  }
  return chosen.length === 0 ? all : chosen;
}

/** @type {Counts} */
const total = { passed: 0, failed: 0, skipped: 0 };
/** @param {Counts} counts */
function add(counts) {
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped;
}

const stages = chooseStages(stageNames);
const isShort = stageNames.length === 0 && vitestArguments.length === 0;
if (isShort) {
  Object.assign(process.env, { ...SHORT_RUN, ...process.env });
}
const summary = [];
for (const stage of stages) {
  console.log(`\n== ${stage}`);
  const began = performance.now();
  const counts = await STAGES[stage]?.();
  if (counts !== undefined) {
    add(counts);
    if (counts.failed > 0 && !failures.some((text) => text.startsWith(`${stage}: `))) {
      failures.push(`${stage}: see its output above`);
    }
    const seconds = Math.round((performance.now() - began) / 1000);
    summary.push(`${stage.padEnd(14)} ${render(counts)}, in ${seconds} s`);
  }
}
console.log(`\n${summary.join('\n')}`);
for (const what of failures) {
  console.log(`Failed: ${what}`);
}
for (const what of missing) {
  console.log(`Not covered: ${what}`);
}
if (isShort) {
  const files = SHORTENED.map((layer) => [filesWithTags(layer, 'full').length, layer]).filter(([count]) => count !== 0);
  const counts = files.map(([count, layer]) => `${count} of ${layer}`).join(', ');
  console.log(
    `Left out: the long files of tests (${counts}), other engines, and most faults. They run with: npm test -- all`,
  );
}
console.log(render(total));
process.exitCode = total.failed === 0 ? 0 : 1;

/** @param {Counts} counts */
function render({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
