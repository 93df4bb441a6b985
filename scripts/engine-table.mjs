// @ts-check
/**
 * `node scripts/engine-table.mjs REPORT [--cases]`: prints the results of the session suite by engine and part, or by case, from the JSON
 * of `vitest run --project integration test/integration/session --reporter=json --outputFile.json=REPORT`.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/**
 * The parts that are read here.
 * @typedef {{ ancestorTitles: string[], title: string, status: string }} Assertion
 * @typedef {{ engine: string, part: string, title: string, verdict: string }} Case
 */

const SUITE = /^(?:session|sandbox of a session) on (.+)$/;
const NOT_COVERED = /^not covered: (?<engine>\S+?):? (?:has )?(?<reason>no .+?): (?<title>.+)$/;
const PASSED = 'yes';

/**
 * @param {Assertion} assertion
 * @returns {Case | undefined}
 */
function toCase({ ancestorTitles: [suite = '', ...parts], title, status }) {
  const engine = SUITE.exec(suite)?.[1];
  if (engine === undefined) {
    return undefined;
  }
  const missing = NOT_COVERED.exec(title)?.groups;
  const verdicts = { passed: PASSED, failed: 'FAILED' };
  return {
    engine,
    part: parts.join(', ') || 'sandbox',
    title: missing?.title ?? title,
    verdict: missing?.reason ?? verdicts[/** @type {keyof typeof verdicts} */ (status)] ?? 'not run',
  };
}

/**
 * @param {readonly Case[]} cases
 * @param {(found: readonly Case[]) => string} show
 * @param {(one: Case) => string} rowOf
 */
function renderTable(cases, rowOf, show) {
  const engines = [...new Set(cases.map(({ engine }) => engine))];
  const lines = [...new Set(cases.map(rowOf))].map((row) => {
    const found = cases.filter((one) => rowOf(one) === row);
    const cells = engines.map((engine) => show(found.filter((one) => one.engine === engine)));
    return `| ${row} | ${cells.join(' | ')} |`;
  });
  return [`| | ${engines.join(' | ')} |`, `| --- |${' --- |'.repeat(engines.length)}`, ...lines].join('\n');
}

/** @param {readonly Case[]} found */
function countPassed(found) {
  const passed = found.filter(({ verdict }) => verdict === PASSED).length;
  return found.length === 0 ? '–' : `${passed} of ${found.length}`;
}

/** @param {readonly Case[]} cases */
function listExceptions(cases) {
  return cases
    .filter(({ verdict }) => verdict !== PASSED)
    .map(({ engine, part, title, verdict }) => `- ${engine}, ${part}: ${title}: ${verdict}`)
    .join('\n');
}

/**
 * A table with a row for each part of the suite and a list of the cases that do not pass; with `isByCase`, a row for each case.
 * @param {readonly Assertion[]} assertions
 * @param {boolean} isByCase
 */
export function renderEngineTable(assertions, isByCase) {
  const cases = assertions.map(toCase).filter((one) => one !== undefined);
  return isByCase
    ? renderTable(
        cases,
        ({ part, title }) => `${part}: ${title}`.replaceAll('|', '\\|'),
        (found) => found[0]?.verdict ?? '–',
      )
    : `${renderTable(cases, ({ part }) => part, countPassed)}\n\n${listExceptions(cases)}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [file = '', ...flags] = process.argv.slice(2);
  const { testResults } = JSON.parse(await readFile(file, 'utf8'));
  console.log(
    renderEngineTable(
      testResults.flatMap((/** @type {{ assertionResults: [] }} */ { assertionResults }) => assertionResults),
      flags.includes('--cases'),
    ),
  );
}
