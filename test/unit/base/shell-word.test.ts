import { expect, it } from 'vitest';
import { quoteShellWord } from '../../../src/base/shell-word.ts';

it('quotes words as shells want them', () => {
  expect(quoteShellWord('/a/b-c_1.js', 'linux')).toBe('/a/b-c_1.js');
  expect(quoteShellWord("/my files/it's.js", 'linux')).toBe("'/my files/it'\\''s.js'");
  expect(quoteShellWord('C:\\Program Files\\x.js', 'win32')).toBe('"C:\\Program Files\\x.js"');
});
