/** Which of the 200 documented behaviours of IPython and Python hold in a session. What does not hold is named here, in groups. */
import { expect, it } from 'vitest';
import { findMissing, readBehaviours } from '../../../bench/neighbours/behaviours.ts';
import { renderAnswer } from '../../../src/core/render/render.ts';
import { createLocalPythonEngine, hasLocalPython } from '../../support/local-python.ts';
import { PATIENCE } from '../../support/patience.ts';
import { createHarness } from '../../support/session-harness.ts';

const ENOUGH_MS = 120_000 * PATIENCE;
/** Old values and cells would fill the memory of a session that lives for days. */
const NO_HISTORY = [
  '__ is the value before the last',
  '___ is the third value from the end',
  'Out holds the values by the number of the cell',
  '_N is the value of cell N',
  '_oh is Out',
  'In holds the cells',
  '_i is the cell before',
  '_ii is the cell before that',
  '_iN is cell N',
  '_ih is In',
  '_dh holds the folders that were visited',
  '%history prints the cells',
  '%dhist lists the folders that were visited',
  '%save writes cells to a file',
  '%tb shows the last traceback',
  'sys.last_value is the last exception',
];
/** No object of IPython's shell, by which libraries tell notebooks from scripts; so nothing that configures it, either. */
const NO_SHELL_OBJECT = [
  'a cell can run a line of IPython by get_ipython',
  'get_ipython().user_ns holds the names of the session',
  'a magic works without its percent sign',
  '%load_ext loads an extension',
  '%xmode Minimal leaves out the traceback',
  '%precision sets the digits of numbers',
  '%pprint turns pretty printing off and on',
  '%pdb says whether the debugger starts by itself',
  '%alias names a command line',
  '%alias_magic names a magic',
  '%autoawait says whether await works at the top level',
  '%logstate says whether the session is logged',
  'a function becomes a magic',
  'a function becomes a magic for cells',
  'a function of the user handles exceptions of a type',
];
/** Values are printed as Python prints them. */
const NO_PRETTY_PRINTER = ['_repr_pretty_ writes the text', 'long containers are shown line by line'];

if (hasLocalPython(11)) {
  it('all documented behaviours of notebooks hold but those with a reason', { timeout: ENOUGH_MS }, async () => {
    const behaviours = await readBehaviours();
    // Objects of IPython.display need IPython, which this Python may not have.
    const own = behaviours.filter(({ cell }) => !cell.includes('from IPython.display'));
    const missing = await findMissing(async () => {
      const harness = await createHarness({ engine: createLocalPythonEngine() });
      return {
        async cell(code) {
          const { content } = await renderAnswer(await harness.run(code), 'compact');
          return content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
        },
        close: () => harness.close(),
      };
    }, own);
    expect([...missing.keys()].toSorted()).toEqual(
      [...NO_HISTORY, ...NO_SHELL_OBJECT, ...NO_PRETTY_PRINTER].toSorted(),
    );
  });
} else {
  it.skip('not covered: documented behaviours in local Python: needs python3 3.11 or newer on PATH');
}
