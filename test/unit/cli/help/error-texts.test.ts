import { expect, it } from 'vitest';
import { ERROR_PAGES } from '../../../../src/app/cli/help/error-texts.ts';
import { ERROR_CODES, type ErrorCode } from '../../../../src/core/base/errors.ts';

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];

it('there is a page for each code, in the order of the table', () => {
  expect(Object.keys(ERROR_PAGES)).toEqual(CODES);
});

it.each(CODES)('%s is explained in full sentences, which mention no removed code', (code) => {
  const { cause, remedy } = ERROR_PAGES[code];
  for (const text of [cause, remedy]) {
    expect(text).toMatch(/^["'`A-Z\d].*\.$/);
    const named = text.match(/`[A-Z]+_[A-Z_]+`/g)?.filter((name) => !name.startsWith('`MCP_BRIDGE_')) ?? [];
    expect(named.filter((name) => !CODES.includes(name.slice(1, -1) as ErrorCode))).toEqual([]);
  }
});
