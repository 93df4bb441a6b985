import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = new URL('../../../../../', import.meta.url);
const program = `
import { forbidCodeFromStrings } from '${new URL('src/edges/engines/embedded/child/no-code-from-strings.ts', root).href}';
forbidCodeFromStrings();
const ways = {
  eval: () => eval('1'),
  'indirect eval': () => (0, eval)('1'),
  Function: () => new Function('return 1')(),
  'the constructor of a function': () => (() => 1).constructor('return 1')(),
  'of an async function': () => (async () => 1).constructor('return 1')(),
  'of a generator': () => (function* () {}).constructor('return 1')(),
  'of an async generator': () => (async function* () {}).constructor('return 1')(),
  'putting one back': () => { Function.prototype.constructor = 1; },
};
for (const [name, way] of Object.entries(ways)) {
  try { way(); console.log(name + ' works'); } catch (error) { console.log(name + ': ' + error.name); }
}`;

it('no way from a string to code is left', () => {
  const loader = fileURLToPath(new URL('scripts/typescript-loader.mjs', root));
  const stdout = execFileSync(process.execPath, ['--import', loader, '--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  expect(stdout.trim().split('\n')).toEqual([
    'eval: EvalError',
    'indirect eval: EvalError',
    'Function: TypeError',
    'the constructor of a function: EvalError',
    'of an async function: EvalError',
    'of a generator: EvalError',
    'of an async generator: EvalError',
    'putting one back: TypeError',
  ]);
});
