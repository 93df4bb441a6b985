import { describe, expect, test } from 'vitest';
import { loadSettings } from '../../../src/edges/settings/settings.ts';

const prestart = (value?: string) => loadSettings(value === undefined ? {} : { MCP_BRIDGE_PRESTART: value }).prestart;

describe('MCP_BRIDGE_PRESTART', () => {
  test.each([
    [undefined, 'recent'],
    ['OFF', 'off'],
    [' Recent ', 'recent'],
    ['github', ['github']],
    ['github, my files ,github', ['github', 'my files']],
  ])('%j is %j', (text, value) => {
    expect(prestart(text)).toEqual(value);
  });

  test.each([
    ['github,,files', 'a name is empty'],
    ['off,github', "'off' stands alone, not in a list of names"],
    ['a,b,c,d,e,f,g,h,i', 'it names 9 servers; the limit is 8'],
    ['x'.repeat(129), 'a name must have at most 128 characters and no control characters'],
  ])('%j is refused', (text, reason) => {
    expect(() => prestart(text)).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(`(${reason}); allowed: off, recent, or the names of at most 8 servers`),
      }),
    );
  });
});

describe('MCP_BRIDGE_PREWARM_IMPORTS', () => {
  const imports = (value?: string) =>
    loadSettings(value === undefined ? {} : { MCP_BRIDGE_PREWARM_IMPORTS: value }).prewarmImports;

  test.each([
    [undefined, 'recent'],
    ['off', 'off'],
    ['pandas, matplotlib.pyplot,pandas', ['pandas', 'matplotlib.pyplot']],
  ])('%j is %j', (text, value) => {
    expect(imports(text)).toEqual(value);
  });

  test.each([
    ['a,b,c,d,e,f,g,h,i,j,k,l,m', 'it names 13 modules; the limit is 12'],
    ['numpy 8', "'numpy 8' is not the name of a module"],
    ['pandas,os;x', "'os;x' is not the name of a module"],
    ['recent,numpy', "'recent' stands alone, not in a list of names"],
  ])('%j is refused', (text, reason) => {
    expect(() => imports(text)).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(`(${reason}); allowed: off, recent, or the names of at most 12 modules`),
      }),
    );
  });
});
