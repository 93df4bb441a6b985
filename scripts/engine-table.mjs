// @ts-check
/**
 * What holds on which engine: `node scripts/engine-table.mjs REPORT [--cases]` reads the JSON of
 * `vitest run --project integration test/integration/session --reporter=json --outputFile.json=REPORT` and prints the session
 * suite by engine and part, or by case.
 */
import { readFile } from 'node:fs/promises';
import { renderEngineTable } from './report/engine-table.mjs';

const [file = '', ...flags] = process.argv.slice(2);
const { testResults } = JSON.parse(await readFile(file, 'utf8'));
console.log(
  renderEngineTable(
    testResults.flatMap((/** @type {{ assertionResults: [] }} */ { assertionResults }) => assertionResults),
    flags.includes('--cases'),
  ),
);
