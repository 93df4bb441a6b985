/**
 * The functions at top level of Python code, each with the imports that it uses. Only text is read: strings, brackets and comments are
 * told apart, and everything else is left to the check of the function and to Python.
 */
import type { SavedTool } from './function-source.ts';

/** Without those that have decorators. Of several with one name, the last. */
export function functionsIn(code: string): SavedTool[] {
  const statements = topLevel(code.replaceAll(/\r\n?/g, '\n'));
  const imports = statements.filter(({ text }) => /^(?:import|from)[ \t][^\n;]*$/.test(text.trimEnd()));
  const found = new Map<string, SavedTool>();
  for (const [index, { text }] of statements.entries()) {
    const [, name] = /^(?:async[ \t]+)?def[ \t]+([A-Za-z_]\w*)\b/.exec(text) ?? [];
    if (name !== undefined) {
      found.delete(name);
      if (!(statements[index - 1]?.text ?? '').startsWith('@')) {
        const needed = imports.filter((one) => namesOf(one.text).some((word) => uses(text, word)));
        const lines = [...new Set(needed.map((one) => one.text.trimEnd()))];
        found.set(name, {
          name,
          source: `${[...lines, ...(lines.length > 0 ? ['', ''] : []), text.trimEnd()].join('\n')}\n`,
        });
      }
    }
  }
  return [...found.values()];
}

/** Names that an import line defines. */
function namesOf(line: string): string[] {
  const [, after = ''] = /\bimport[ \t]+(.*)$/.exec(line.replace(/#.*/, '')) ?? [];
  return after
    .replaceAll(/[()]/g, '')
    .split(',')
    .map((part) => part.trim().split(/\s+as\s+/))
    .map(([name = '', alias]) => alias ?? name.split('.')[0] ?? '')
    .filter((name) => /^\w+$/.test(name));
}

function uses(text: string, name: string): boolean {
  return new RegExp(`(?<![\\w.])${name}(?!\\w)`).test(text);
}

/** Statements that begin at the left edge, each with what belongs to it, but without comments after it. */
function topLevel(code: string): { readonly text: string }[] {
  const starts = startsOf(code);
  return starts.map((from, index) => ({ text: withoutEnd(code.slice(from, starts[index + 1] ?? code.length)) }));
}

/** Blank lines and comments at the left edge stand before the next statement. */
function withoutEnd(text: string): string {
  const lines = text.split('\n');
  while (lines.length > 1 && /^(?:\s*|#.*)$/.test(lines.at(-1) ?? '')) {
    lines.pop();
  }
  return lines.join('\n');
}

function startsOf(code: string): number[] {
  const starts: number[] = [];
  let depth = 0;
  let isLineStart = true;
  for (let at = 0; at < code.length; at += 1) {
    const char = code[at] ?? '';
    if (isLineStart && depth === 0 && /[^\s#)\]}]/.test(char)) {
      starts.push(at);
    }
    isLineStart = char === '\n';
    if (char === '"' || char === "'") {
      at = endOfString(code, at) - 1;
    } else if (char === '#') {
      const end = code.indexOf('\n', at);
      at = (end < 0 ? code.length : end) - 1;
    } else if (char === '\\') {
      at += 1;
    } else {
      depth = Math.max(0, depth + Number('([{'.includes(char)) - Number(')]}'.includes(char)));
    }
  }
  return starts;
}

/** The position after a string; one with single marks ends with its line at the latest. */
function endOfString(code: string, from: number): number {
  const quote = code[from] ?? '';
  const isLong = code.startsWith(quote.repeat(3), from);
  const mark = isLong ? quote.repeat(3) : quote;
  for (let at = from + mark.length; at < code.length; at += 1) {
    if (code[at] === '\\') {
      at += 1;
    } else if (code.startsWith(mark, at)) {
      return at + mark.length;
    } else if (!isLong && code[at] === '\n') {
      return at;
    }
  }
  return code.length;
}
