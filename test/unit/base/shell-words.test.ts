import { describe, expect, it } from 'vitest';
import { quoteShellWord, splitWords } from '../../../src/core/base/shell-words.ts';

describe('quoteShellWord', () => {
  it('quotes a word only if the shell needs it', () => {
    expect(quoteShellWord('/a/b-c_1.js', 'linux')).toBe('/a/b-c_1.js');
    expect(quoteShellWord("/my files/it's.js", 'linux')).toBe("'/my files/it'\\''s.js'");
    expect(quoteShellWord('C:\\Program Files\\x.js', 'win32')).toBe('"C:\\Program Files\\x.js"');
  });
});

describe('splitWords', () => {
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
});
