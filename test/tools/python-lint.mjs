// @ts-check
/**
 * Lints and formats the Python of this project with ruff as WebAssembly, which needs no Python and no download other than npm.
 * It reads no files, so its settings are here. `--fix` applies the fixes.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PositionEncoding, Workspace } from '@astral-sh/ruff-wasm-nodejs';

const FOLDERS = [
  'sandbox-runtime/bridge_kernel',
  'sandbox-runtime/package_builder',
  'sandbox-runtime/pod',
  'sandbox-runtime/wasm',
  'test/python',
];
/** Copied from another project. */
const NOT_OURS = 'cloudpickle.py';
/** Rounds of fixes: one fix may uncover the next, such as an import that is no longer used. */
const MAX_ROUNDS = 10;

const SETTINGS = {
  'line-length': 120,
  // The oldest Python that the kernel must run on.
  'target-version': 'py310',
  lint: {
    select:
      'E W F I N A B UP C4 PIE RET SIM RUF PGH PLE PLW BLE SLF ERA TID ISC ICN FLY PERF FURB DTZ EXE INT SLOT C90'.split(
        ' ',
      ),
    ignore: [
      'ISC001', // Conflicts with the formatter.
      'PERF203', // If one failure must not end the loop, `try` belongs inside.
      'UP031', // If the text is JSON, `%` reads better than doubled braces.
      'SIM105', // Importing contextlib costs more than four lines.
      'RUF001', // "…" and "–" are intended in texts for people.
      'RUF002',
      'RUF003',
    ],
    isort: { 'known-first-party': ['bridge_kernel'] },
    mccabe: { 'max-complexity': 10 },
  },
  format: { 'docstring-code-format': true },
};

/** @typedef {import('@astral-sh/ruff-wasm-nodejs').Diagnostic} Diagnostic */
/** @typedef {{ start: number, end: number, content: string }} Edit */

const workspace = new Workspace(SETTINGS, PositionEncoding.Utf16);

/**
 * @param {string} text
 * @returns {Diagnostic[]}
 */
function check(text) {
  return workspace.check(text);
}

/**
 * @param {string} text
 * @param {Diagnostic[]} diagnostics
 * @returns {string} The text with every fix that does not overlap another one.
 */
function applyFixes(text, diagnostics) {
  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map((match) => match.index + 1)];
  /** @param {{ row: number, column: number }} location */
  const offset = ({ row, column }) => (lineStarts[row - 1] ?? text.length) + column - 1;
  let fixed = text;
  let untouchedUntil = text.length + 1;
  const fixes = diagnostics.flatMap(({ fix }) => (fix === null ? [] : [fix.edits.map(toEdit)]));
  for (const edits of fixes.toSorted((a, b) => lastOf(b) - lastOf(a))) {
    if (lastOf(edits) >= untouchedUntil) {
      continue;
    }
    for (const { start, end, content } of edits.toSorted((a, b) => b.start - a.start)) {
      fixed = fixed.slice(0, start) + content + fixed.slice(end);
      untouchedUntil = start;
    }
  }
  return fixed;

  /**
   * @param {NonNullable<Diagnostic['fix']>['edits'][number]} edit
   * @returns {Edit}
   */
  function toEdit(edit) {
    return { start: offset(edit.location), end: offset(edit.end_location), content: edit.content ?? '' };
  }
}

/** @param {readonly Edit[]} edits */
function lastOf(edits) {
  return Math.max(...edits.map(({ end }) => end));
}

/**
 * @param {string} text
 * @returns {string}
 */
function fixAll(text) {
  let fixed = text;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const next = workspace.format(applyFixes(fixed, check(fixed)));
    if (next === fixed) {
      break;
    }
    fixed = next;
  }
  return fixed;
}

/**
 * @param {string} text
 * @returns {string[]} One line per fault, without the file name.
 */
function describeFaults(text) {
  const faults = check(text).map(({ code, message, start_location: { row, column } }) => {
    return `${row}:${column} ${code ?? 'syntax'} ${message}`;
  });
  return faults.length > 0 || workspace.format(text) === text ? faults : ['1:1 format The formatter would change it'];
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const isFix = process.argv.includes('--fix');
const files = FOLDERS.flatMap((folder) => {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.py') && name !== NOT_OURS)
    .map((name) => join(root, folder, name));
});
let faultCount = 0;
for (const file of files) {
  const text = readFileSync(file, 'utf8');
  const fixed = isFix ? fixAll(text) : text;
  if (fixed !== text) {
    writeFileSync(file, fixed);
  }
  for (const fault of describeFaults(fixed)) {
    faultCount += 1;
    console.log(`${relative(root, file)}:${fault}`);
  }
}
console.log(`${files.length} Python files, ${faultCount} faults`);
process.exitCode = faultCount === 0 && files.length > 0 ? 0 : 1;
