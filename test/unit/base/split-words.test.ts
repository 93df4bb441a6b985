import { expect, it } from 'vitest';
import { splitWords } from '../../../src/base/split-words.ts';

it.each<[string, string[] | undefined]>([
  ['secret-tool lookup service github', ['secret-tool', 'lookup', 'service', 'github']],
  ['  a\tb \n c ', ['a', 'b', 'c']],
  ["a 'b c' d'e f'g", ['a', 'b c', 'de fg']],
  ['a "b \\" c" \'d\\e\'', ['a', 'b " c', 'd\\e']],
  ["a\\ b \\\"c\\\\ ''", ['a b', '"c\\', '']],
  ['C:\\tools\\op.exe read', ['C:\\tools\\op.exe', 'read']],
  [
    'echo $HOME `id` $(id) | cat > x; y && *',
    ['echo', '$HOME', '`id`', '$(id)', '|', 'cat', '>', 'x;', 'y', '&&', '*'],
  ],
  ['', undefined],
  ["''", undefined],
  ["a 'b", undefined],
  ['a "b', undefined],
])('%j', (command, words) => {
  expect(splitWords(command)).toEqual(words);
});
