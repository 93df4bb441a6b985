// Tags: full
/**
 * What a person sees of cells, beside IPython: output in all its ways, sources, tracebacks, asyncio, worker processes. IPython comes
 * from the index; without one nothing is covered, and the run says so. What differs is listed with its reason.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { install } from '../../../bench/neighbours/install.ts';
import { openHost } from '../../../bench/neighbours/line-host.ts';
import { readPackageIndex } from '../../../src/features/packages/package-index.ts';
import { checkIndex } from '../../../src/features/packages/pure/fetch-wheels.ts';
import { createLocalPythonEngine, hasLocalPython } from '../../support/local-python.ts';
import { PATIENCE } from '../../support/patience.ts';
import { createHarness, textOf } from '../../support/session-harness.ts';

const FIXTURES = fileURLToPath(new URL('../../fixtures/beside-ipython/', import.meta.url));
const INDEX_TIMEOUT_MS = 20_000;
const CELL_SECONDS = 60;
const PACKAGES = { ipykernel: '7.4.0', 'jupyter-client': '8.10.0', joblib: '1.6.0', tqdm: '4.70.1', rich: '15.0.0' };

interface Seen {
  readonly stdout: string;
  readonly stderr: string;
  readonly value: string | null;
  readonly error: string | null;
}

/** What a case shows here where IPython, or one of its versions, shows something else, and why. */
const DIFFERENT: Readonly<Record<string, readonly [reason: string, seen: Partial<Seen>]>> = {
  SystemExit: ['IPython warns that this does not end it', { stdout: 'before\n', stderr: '', error: 'SystemExit: 3' }],
  'bytes through the buffer of the output': ['its stream has none', { stdout: 'bytes\n', error: null }],
  'fileno of the output': ['it writes them to the terminal of its server', { stdout: 'by fileno\n' }],
  'sys.stdout closed': ['output is whole again at the next cell', { stdout: 'after\n', error: null }],
  'the source of a class': [
    'it finds classes from Python 3.13 on',
    {
      stdout: 'class Shown:\n    """A class."""\n    def method(self): return 1\n\n    def method(self): return 1\n\n',
      error: null,
    },
  ],
  'the source of a dataclass, and its line': [
    'it finds classes from Python 3.13 on',
    { value: String.raw`(['@dataclasses.dataclass\n', 'class Point:\n', '    x: int = 1\n'], 3)`, error: null },
  ],
  'asyncio.run': ['its loop refuses another one', { value: "'ran'", stderr: '', error: null }],
  'asyncio.Runner': ['its loop refuses another one', { value: "'runner'", stderr: '', error: null }],
  'run_until_complete of a new loop': ['its loop refuses another one', { value: "'loop'", error: null }],
  'run_until_complete of the loop that get_event_loop gives': [
    'its loop refuses to run within itself',
    { value: "'current'", error: null },
  ],
  IsolatedAsyncioTestCase: ['its loop refuses another one', { value: '(1, 0, 0)', stderr: '', error: null }],
  'Pool.map with a lambda': ['its workers get functions by name', { value: '[2]', error: null }],
  'Pool by spawn with a function': ['its workers do not have its cells', { value: '[3, 6]', stderr: '', error: null }],
};

interface Program {
  cell(code: string): Promise<Seen>;
  close(): Promise<void>;
}

const cases = readFileSync(join(FIXTURES, 'cells.txt'), 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((part) => {
    const [title = '', ...lines] = part.trimEnd().split('\n');
    return {
      name: title.replace(/ \[new\]$/, ''),
      beginsAnew: title.endsWith(' [new]'),
      cells: lines.join('\n').split(/^---\n/m),
    };
  });

function openIpython(python: string, home: string): Program {
  const env = { HOME: home, PATH: process.env['PATH'] ?? '', PYTHONDONTWRITEBYTECODE: '1' };
  const host = openHost({ command: python, args: [join(FIXTURES, 'host.py')], cwd: home, env });
  return { cell: async (code) => (await host.ask({ code })) as Seen, close: () => host.close() };
}

/** Of its virtual environment. */
async function sitePackages(python: string): Promise<string> {
  const { stdout } = await promisify(execFile)(python, [
    '-c',
    'import sysconfig; print(sysconfig.get_path("purelib"))',
  ]);
  return stdout.trim();
}

async function openSession(packages: string): Promise<Program> {
  const harness = await createHarness({ engine: createLocalPythonEngine() });
  // In the place of the packages of a session, also for Python programs that it starts.
  await harness.run(
    `import os, sys\npackages = ${JSON.stringify(packages)}\nplaces = [n for n, path in enumerate(sys.path) if path.endswith("-packages")]\nsys.path.insert(min(places, default=len(sys.path)), packages); os.environ["PYTHONPATH"] = packages\ndel packages, places`,
  );
  return {
    async cell(code) {
      const answer = await harness.run(code, { timeoutMs: CELL_SECONDS * 1000 });
      const { error, value } = answer;
      return {
        stdout: textOf(answer.stdout),
        stderr: textOf(answer.stderr),
        value: value ?? null,
        error: error === undefined ? null : `${error.exception}: ${error.message}`,
      };
    },
    close: () => harness.close(),
  };
}

const escapes = /\u001b\[[\d;?]*[A-Za-z]/g;
/** As a terminal leaves it: without colours, and each line with what was written over it. */
function asShown(seen: Seen): Seen {
  const plain = (text: string): string =>
    text
      .replaceAll(escapes, '')
      .split('\n')
      .map((line) => line.replace(/\r+$/, '').replace(/^.*\r/, ''))
      .join('\n')
      .replaceAll(/ \(most recent call last\):\n(?: {2,}.*\n)+/g, ':\n');
  return { ...seen, stdout: plain(seen.stdout), stderr: plain(seen.stderr) };
}

async function seenOf(open: () => Promise<Program>): Promise<Map<string, Seen>> {
  const found = new Map<string, Seen>();
  let program = await open();
  try {
    for (const { name, cells, beginsAnew } of cases) {
      if (beginsAnew) {
        await program.close();
        program = await open();
      }
      for (const code of cells) {
        found.set(name, asShown(await program.cell(code)));
      }
    }
  } finally {
    await program.close();
  }
  return found;
}

const index = hasLocalPython(11) ? await readPackageIndex(process.env) : undefined;
const failure = index === undefined ? undefined : await checkIndex(index, INDEX_TIMEOUT_MS);

if (index === undefined || failure !== undefined) {
  it.skip('not covered: cells beside IPython: needs python3 3.11 or newer and an index that answers', () => undefined);
} else {
  describe('cells beside IPython', () => {
    let inIpython: Map<string, Seen>;
    let here: Map<string, Seen>;
    beforeAll(async () => {
      const root = mkdtempSync(join(tmpdir(), 'bridge-beside-ipython-'));
      try {
        const { python } = await install({ name: 'IPython', registry: 'pypi', packages: PACKAGES }, root);
        inIpython = await seenOf(async () => openIpython(python, root));
        here = await seenOf(async () => openSession(await sitePackages(python)));
      } finally {
        rmSync(root, { recursive: true, force: true });
      }
    }, 600_000 * PATIENCE);

    it.each(cases)('$name', ({ name }) => {
      const seen = DIFFERENT[name]?.[1];
      expect(here.get(name)).toEqual(seen === undefined ? inIpython.get(name) : expect.objectContaining(seen));
    });
  });
}
