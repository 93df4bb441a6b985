/** Functions in the code of a cell, with the imports that they use. */
import { expect, it } from 'vitest';
import { functionsIn } from '../../../src/features/saved-tools/functions-in-code.ts';

const sourceOf = (code: string, name: string) => functionsIn(code).find((one) => one.name === name)?.source;

it('takes a function from its def to the next statement, with the imports that it uses', () => {
  const code = `import json, re
from math import sqrt as root
import unused
x = 1

def total(items):
    """Adds
def not_this(): pass
"""
    # a comment
    return json.dumps(root(sum(items)))  # def nor_this()

# about the next one
async def later(a=(1,
2)):
    return a
print(total([1]))`;
  expect(functionsIn(code).map(({ name }) => name)).toEqual(['total', 'later']);
  expect(sourceOf(code, 'total')).toBe(`import json, re
from math import sqrt as root


def total(items):
    """Adds
def not_this(): pass
"""
    # a comment
    return json.dumps(root(sum(items)))  # def nor_this()
`);
  expect(sourceOf(code, 'later')).toBe('async def later(a=(1,\n2)):\n    return a\n');
});

it('takes the last of several with one name, and none with decorators, inside others or after a semicolon', () => {
  expect(sourceOf('def f(): return 1\r\ndef f(): return 2\r\n', 'f')).toBe('def f(): return 2\n');
  expect(functionsIn('@cache\ndef f(): return 1')).toEqual([]);
  expect(functionsIn('def f(): return 1\n@cache\ndef f(): return 2')).toEqual([]);
  expect(functionsIn('if x:\n    def f(): pass\nclass A:\n    def g(self): pass')).toEqual([]);
  expect(functionsIn("s = '''\ndef f(): pass\n'''")).toEqual([]);
  expect(functionsIn('s = [\ndef f(): pass\n]')).toEqual([]);
  expect(functionsIn('')).toEqual([]);
});

it('survives what is no Python', () => {
  for (const code of ['def', 'def f(', '"""', "'\\", ')))def f(): pass', '\0', 'def f():\n\treturn "']) {
    expect(() => functionsIn(code)).not.toThrow();
  }
});
