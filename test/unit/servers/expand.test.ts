import { expect, it } from 'vitest';
import { expandVariables, plainText } from '../../../src/edges/servers/expand.ts';

function expand(text: string, env: Record<string, string> = {}) {
  const missing: string[] = [];
  const used: Record<string, string> = {};
  const onUsed = (name: string, value: string): void => {
    used[name] = value;
  };
  const expanded = expandVariables(text, { home: '/home/me', env, onUsed }, (name) => missing.push(name));
  return { expanded, missing, used };
}

it.each<[string, Record<string, string>, string]>([
  ['a ${X} b', { X: '1' }, 'a 1 b'],
  ['${env:X}', { X: '1' }, '1'],
  ['${X:-d}', {}, 'd'],
  ['${X:-d}', { X: '' }, 'd'],
  ['${X}${file:~/k}${cmd:pass show x}', { X: '1' }, '1${file:~/k}${cmd:pass show x}'],
])('%s', (text, env, expanded) => {
  expect(expand(text, env).expanded).toBe(expanded);
});

it('reports which variables are missing, and which were expanded', () => {
  expect(expand('${A} ${B} ${C:-x}', { B: 'b' })).toEqual({
    expanded: '${A} b x',
    missing: ['A'],
    used: { B: 'b' },
  });
});

it('does not read the value of a variable as a reference', () => {
  const { expanded } = expand('${X}', { X: 'a ${cmd:rm -rf ~} ${file:/etc/x} ${Y}' });
  expect(expanded).not.toMatch(/\$\{(?:cmd|file)/);
  expect(plainText(expanded)).toBe('a ${cmd:rm -rf ~} ${file:/etc/x} ${Y}');
});
