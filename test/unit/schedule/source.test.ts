/** What the rights of a schedule are pinned to. */
import { expect, it } from 'vitest';
import { readSource } from '../../../src/app/schedule/source.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';

function hashOf(code: string, functions: Record<string, string>): Promise<string> {
  return readSource(
    { source: { code } },
    {
      listFunctions: async () => Object.keys(functions),
      findFunction: async (name) => {
        const source = functions[name];
        if (source === undefined || source === '') {
          throw new BridgeError('CALL_REFUSED', `'${name}' was changed by hand`);
        }
        return { name, source, servers: [], parameters: [], isAsync: false, returns: undefined } as never;
      },
    },
  ).then(({ hash }) => hash);
}

// A changed function ran with the rights of the one that was accepted.
it('is the code with the saved functions that it names, and those that these name', async () => {
  const functions = { report: 'def report(): return rows()', rows: 'def rows(): return 1', other: 'def other(): ...' };
  const first = await hashOf('report()', functions);
  expect(await hashOf('report()', { ...functions, other: 'def other(): return 2' })).toBe(first);
  expect(await hashOf('report()', { other: '', rows: functions.rows, report: functions.report })).toBe(first);
  const changed = [
    await hashOf('report() ', functions),
    await hashOf('report()', { ...functions, report: 'def report(): return 0' }),
    await hashOf('report()', { ...functions, rows: 'def rows(): return 2' }),
    await hashOf('report()', { ...functions, rows: '' }),
  ];
  expect(new Set([first, ...changed]).size).toBe(5);
});

it('is the code alone if it names no saved function', async () => {
  expect(await hashOf('print(1)', { report: 'def report(): ...' })).toBe(await hashOf('print(1)', {}));
});
