import { describe, expect, test } from 'vitest';
import { readFunctionHead } from '../../../src/features/saved-tools/python-signature.ts';

const head = (source: string, name = 'f') => readFunctionHead(name, source);

describe('the signature', () => {
  test.each([
    ['def f(): pass', 'f()'],
    ['async def f(a, *, b=1) -> int: ...', 'f(a, *, b=1) -> int'],
    [
      'def f(\n    a: dict[str, list[int]],  # the first, (and best)\n    b="),:#",\n) -> "x:y":\n    pass',
      'f(a: dict[str, list[int]], b="),:#") -> "x:y"',
    ],
    ["def f(a: Literal['x', ')'] = ')', /, *rest, **more): pass", "f(a: Literal['x', ')'] = ')', /, *rest, **more)"],
    ['import re\n\ndef f(a=("""\n(""", {1: 2})): pass', 'f(a=(""" (""", {1: 2}))'],
  ])('of %j is %j', (source, signature) => {
    expect(head(source)?.signature).toBe(signature);
  });

  test('hides nothing, and has an end', () => {
    expect(head('def f(a="\u202e\u001b[2J"): pass')?.signature).toBe('f(a="<U+202E><U+001B>[2J")');
    expect(head(`def f(a=${'1'.repeat(2_000)}): pass`)?.signature.length).toBeLessThan(600);
  });

  test.each(['', 'def g(): pass', 'def f(', 'def f()', '  def f(): pass', 'x = "def f():"', 'def f(a="'])(
    'of %j is unknown',
    (source) => {
      expect(head(source)).toBeUndefined();
    },
  );
});

test('parameters have a schema of their types', () => {
  const source = `def f(a: int, b: str | None = None, c: Optional[float] = 1.5, d: list[bool] = (), e: Literal["x", 2] = "x",
      g: "dict" = {}, h: typing.List[str] = None, i: Frame = None, j=True, *rest, k, **more): pass`;
  expect(head(source)?.inputSchema).toEqual({
    type: 'object',
    properties: {
      a: { type: 'integer' },
      b: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null },
      c: { anyOf: [{ type: 'number' }, { type: 'null' }], default: 1.5 },
      d: { type: 'array', items: { type: 'boolean' } },
      e: { enum: ['x', 2], default: 'x' },
      g: { type: 'object' },
      h: { type: 'array', items: { type: 'string' }, default: null },
      i: { default: null },
      j: { default: true },
      k: {},
    },
    required: ['a', 'k'],
    additionalProperties: true,
  });
  expect(head('def f(a, b, /, c): pass')).toMatchObject({
    positional: ['a', 'b'],
    inputSchema: { additionalProperties: false },
  });
});

test('deep annotations end', () => {
  const deep = `${'list['.repeat(5_000)}int${']'.repeat(5_000)}`;
  expect(head(`def f(a: ${deep}): pass`)?.inputSchema).toMatchObject({ required: ['a'] });
});

test('the summary is the first line of the docstring', () => {
  expect(head('def f():\n    # why\n    r"""\n    Reads\u200b it.\n\n    More.\n    """')?.summary).toBe(
    'Reads<U+200B> it.',
  );
  expect(head("def f(): 'Short.'; return 1")?.summary).toBe('Short.');
  expect(head('def f():\n    x = "no docstring"')?.summary).toBe('');
});

test('imports and servers are found', () => {
  const source = `import json
from os import path
# import no
async def f():
    await mcp_github.create_issue(title=mcp_servers["my files"].x)
    await mcp.servers.memory.read()
    return await runtime.call_tool("weather", "now")`;
  expect(head(source)).toMatchObject({
    imports: ['import json', 'from os import path'],
    servers: ['github', 'my files', 'memory', 'weather'],
    isAsync: true,
  });
});
