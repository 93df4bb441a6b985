/** Splits a line of Python into colored pieces: keywords, strings, numbers, called names. Covers the cells in pictures, not all of Python. */
import type { Theme } from './themes.ts';

const KEYWORDS = 'and|as|async|await|def|else|for|from|if|import|in|is|lambda|not|or|return|try|except|while|with';
const PIECES = new RegExp(
  [
    String.raw`(?<string>"[^"]*"|'[^']*')`,
    String.raw`(?<keyword>\b(?:${KEYWORDS})\b)`,
    String.raw`(?<call>\b[A-Za-z_]\w*(?=\())`,
    String.raw`(?<number>\b\d[\d.]*\b)`,
  ].join('|'),
  'g',
);

export function colorPython(line: string, theme: Theme): { readonly text: string; readonly fill: string }[] {
  const pieces = [];
  let end = 0;
  for (const { 0: found, groups, index } of line.matchAll(PIECES)) {
    const kind = Object.keys(groups ?? {}).find((name) => groups?.[name] !== undefined) as keyof Theme;
    pieces.push({ text: line.slice(end, index), fill: theme.text }, { text: found, fill: theme[kind] });
    end = index + found.length;
  }
  return [...pieces, { text: line.slice(end), fill: theme.text }].filter((piece) => piece.text !== '');
}
