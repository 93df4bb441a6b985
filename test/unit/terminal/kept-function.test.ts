import { describe, expect, test } from 'vitest';
import type { KeptFunction } from '../../../src/edges/terminal/command.ts';
import { argumentsOfFunction, cellFor } from '../../../src/edges/terminal/kept-function.ts';
import { readFunctionHead } from '../../../src/features/saved-tools/python-signature.ts';

function kept(source: string): KeptFunction {
  const head = readFunctionHead('f', source);
  if (head === undefined) {
    throw new Error('no function');
  }
  return { name: 'f', ...head, source };
}

const typed = kept('def f(n: int, words: list[str], ok: bool = False, text: str = "", any=None): pass');

describe('arguments', () => {
  test('have the types of the annotations', async () => {
    const words = ['n=3', 'words=a', 'words=b', 'ok=true', 'text=12', 'any={"a": 1}'];
    expect(await argumentsOfFunction(words, undefined, typed)).toEqual({
      n: 3,
      words: ['a', 'b'],
      ok: true,
      text: '12',
      any: { a: 1 },
    });
    expect(await argumentsOfFunction([], '{"n": 1, "words": []}', typed)).toEqual({ n: 1, words: [] });
  });

  test.each([
    [['n=1'], 'f: words is missing'],
    [[], 'f: n, words are missing'],
    [['n=1.5', 'words=[]'], 'f: n must be int, not 1.5'],
    [['n=1', 'words=[]', 'x=1'], 'f: x is not a parameter'],
  ])('%j are refused with the signature', async (words, message) => {
    await expect(argumentsOfFunction(words, undefined, typed)).rejects.toMatchObject({
      code: 'TOOL_ARGUMENT_INVALID',
      message: expect.stringContaining(message),
      hint: expect.stringMatching(/^The signature is f\(n: int, words: list\[str\], ok: bool = False/),
    });
  });
});

describe('the cell', () => {
  test('imports what the function imports, and the function', () => {
    const source = 'import json\nfrom a import (\n    b)\nimport os; import sys\nasync def f(x): pass';
    expect(cellFor(kept(source), { x: 'é"\n' }, false).split('\n')).toEqual([
      'import json',
      'from user_tools import f',
      'await f(**__import__("json").loads("{\\"x\\":\\"é\\\\\\"\\\\n\\"}"))',
    ]);
  });

  test('gives positional parameters by position, and no code of the arguments runs', () => {
    const code = cellFor(kept('def f(a, /, b=1): pass'), { b: '");import os#', a: "'" }, false);
    expect(code.split('\n').at(-1)).toBe(
      'f(*[__import__("json").loads("\\"\'\\"")], **__import__("json").loads("{\\"b\\":\\"\\\\\\");import os#\\"}"))',
    );
    expect(cellFor(kept('def f(): pass'), {}, false)).toContain('\nf()');
    expect(cellFor(kept('def f(): pass'), {}, true)).toMatch(/\n__value = f\(\)\ntype\("JSON"/);
  });
});
