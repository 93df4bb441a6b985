import { expect, it } from 'vitest';
import { renderErrorHelp } from '../../src/commands/error-help.ts';
import { ERROR_PAGES, errorFacts } from '../../src/error-pages.ts';
import { ERROR_CODES, type ErrorCode } from '../../src/errors.ts';

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];

it('there is a page for each code, in the order of the table', () => {
  expect(Object.keys(ERROR_PAGES)).toEqual(CODES);
});

it.each(CODES)('%s is explained in whole sentences, which name no code that is gone', (code) => {
  const { cause, remedy } = ERROR_PAGES[code];
  for (const text of [cause, remedy]) {
    expect(text).toMatch(/^["'`A-Z\d].*\.$/);
    const named = text.match(/`[A-Z]+_[A-Z_]+`/g)?.filter((name) => !name.startsWith('`MCP_BRIDGE_')) ?? [];
    expect(named.filter((name) => !CODES.includes(name.slice(1, -1) as ErrorCode))).toEqual([]);
  }
});

it('help of a code says all there is, in lines that fit a terminal', async () => {
  const text = await renderErrorHelp('cell_deadline');
  expect(text).toMatch(/^CELL_DEADLINE\n\nMeaning\n {2}The cell reached its deadline\.\n\nUsual cause\n {2}/);
  expect(text.replaceAll(/\s+/g, ' ')).toContain(ERROR_PAGES.CELL_DEADLINE.remedy);
  expect(text).toMatch(/\nExit code\n {2}124\n$/);
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
  expect(errorFacts('CELL_DEADLINE')).toHaveLength(5);
});

it('an unknown code is refused with the nearest', async () => {
  await expect(renderErrorHelp('SESSION_LOSS')).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    message: expect.stringMatching(/^There is no error 'SESSION_LOSS'\. Did you mean '.*SESSION_LOST/),
  });
});
