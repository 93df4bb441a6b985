// Tags: full
/**
 * What the sandbox shows of values of pandas, NumPy, polars and pyarrow, compared with what each version of them writes. A Series of
 * pandas 1.5 was once shown with each value beside the label of the next row; pandas 2 and 3 were right.
 */
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { installPythonPackages, pythonMinorVersion, whyNoPythonPackages } from '../../support/python-packages.ts';
import { findPython } from '../../tools/python.mjs';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const COUNT = Number(process.env['MCP_BRIDGE_TEST_VALUES'] ?? 400);
const SEED = Number(process.env['MCP_BRIDGE_TEST_VALUES_SEED'] ?? 36);
const INSTALL_TIMEOUT_MS = 600_000;

/** With the oldest and newest Python 3 that the index has them for. */
const VERSIONS = [
  { oldest: 9, newest: 11, wanted: ['pandas==1.5.3', 'numpy==1.26.4', 'pyarrow==15.0.2'] },
  { oldest: 9, newest: 11, wanted: ['pandas==2.0.3', 'numpy==1.26.4'] },
  { oldest: 10, newest: 13, wanted: ['pandas==2.3.3', 'numpy==2.2.6', 'polars==1.37.1'] },
  { oldest: 11, newest: 14, wanted: ['pandas==3.0.6', 'numpy==2.3.5'] },
  { oldest: 11, newest: 14, wanted: ['pandas==3.1.1', 'numpy==2.4.6', 'polars==2.1.0', 'pyarrow==26.0.1'] },
];

interface Verdict {
  readonly versions: Readonly<Record<string, string>>;
  readonly counts: Readonly<Record<string, number>>;
  readonly differences: readonly string[];
}

const why = await whyNoPythonPackages();
const minor = why === undefined ? await pythonMinorVersion() : 0;

describe.each(VERSIONS)('values of $wanted', ({ newest, oldest, wanted }) => {
  const name = wanted.join(', ');
  if (why !== undefined || minor < oldest || minor > newest) {
    it.skip(`not covered: how values of ${name} are shown, because ${why ?? `this is Python 3.${minor}`}`, () => {});
    return;
  }

  it(`are shown as ${name} write them`, { timeout: INSTALL_TIMEOUT_MS }, async () => {
    const packages = await installPythonPackages(wanted);
    const python = (await findPython()) ?? 'python3';
    const path = [join(ROOT, 'sandbox-runtime'), packages].join(delimiter);
    const judge = ['-X', 'utf8', join(import.meta.dirname, 'judge.py'), String(COUNT), String(SEED)];
    const { stdout } = await execa(python, judge, { env: { PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' } });
    const { counts, differences, versions } = JSON.parse(stdout) as Verdict;
    expect(differences.join('\n\n')).toBe('');
    expect(Object.entries(versions).map(([library, version]) => `${library}==${version}`)).toEqual(wanted);
    const { frame = 0, series = 0, 'named cells': named = 0, ...others } = counts;
    expect(frame + series + named).toBeGreaterThan(2 * COUNT);
    const libraries = Object.keys(versions).filter((library) => library === 'polars' || library === 'pyarrow');
    expect(Object.keys(others).toSorted()).toEqual(
      ['array', 'container', 'heading', 'index', 'option', 'toon', ...libraries].toSorted(),
    );
  });
});
