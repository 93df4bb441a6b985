/** Renders the change of a file as a unified diff with its secrets masked. */
import { styleText } from 'node:util';
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { isObject } from '../../core/base/is-object.ts';
import type { FileChange } from '../servers/client-file.ts';
import { createMask, LIKELY_SECRET_NAME } from '../upstream/secrets.ts';

/** Objects whose values are variables or headers. */
const SECRET_OBJECTS: ReadonlySet<string> = new Set(['env', 'environment', 'envs', 'headers', 'http_headers']);
/** Some clients keep their history in the same file, in lines of any length. Context with a longer line is left out. */
const MAX_CONTEXT_CHARS = 200;
/** Changed lines longer than this, as in a minified file, are cut to the change and a few characters around it. */
const MAX_LINE_CHARS = 400;
const SHOWN_AROUND_CHARS = 60;

/** The complete change as a unified diff; secrets are `***`. */
export function renderChange({ file, next, format }: FileChange): string {
  const [before, after] = [file.text ?? '', next ?? ''];
  const mask = createFileMask([format.parse(before), format.parse(after)]);
  const names = [
    file.text === undefined ? '(no file)' : file.path,
    next === undefined ? '(no file)' : file.path,
  ] as const;
  const render = (context: number): string[] =>
    mask(createTwoFilesPatch(...names, before, after, '', '', { context, headerOptions: FILE_HEADERS_ONLY })).split(
      '\n',
    );
  const lines = render(2);
  const isLong = lines.some((line) => line.startsWith(' ') && line.length > MAX_CONTEXT_CHARS);
  return shortenPairs(isLong ? render(0) : lines).join('\n');
}

/** Whether the text before the change, which its backup keeps, holds a value that is masked in the change. */
export function heldSecrets({ file, format }: FileChange): boolean {
  const { text = '' } = file;
  return createFileMask([format.parse(text)])(text) !== text;
}

const HEADER_LINES = 2;

/** Cuts the common start and end of long lines that replace each other. */
function shortenPairs(lines: readonly string[]): string[] {
  const shown = [...lines];
  let removed: number[] = [];
  let added: number[] = [];
  const pair = (): void => {
    for (const [index, from] of removed.entries()) {
      const to = added[index];
      const [old = '', now = ''] = [lines[from], to === undefined ? undefined : lines[to]];
      if (to !== undefined && Math.max(old.length, now.length) > MAX_LINE_CHARS) {
        [shown[from], shown[to]] = shortenPair(old, now);
      }
    }
    removed = [];
    added = [];
  };
  for (const [index, line] of lines.entries()) {
    if (index < HEADER_LINES || line.startsWith('\\')) {
      continue;
    }
    if (line.startsWith('+')) {
      added.push(index);
    } else {
      if (added.length > 0 || !line.startsWith('-')) {
        pair();
      }
      removed.push(...(line.startsWith('-') ? [index] : []));
    }
  }
  pair();
  return shown;
}

function shortenPair(old: string, now: string): [string, string] {
  const most = Math.min(old.length, now.length);
  let start = 1;
  while (start < most && old[start] === now[start]) {
    start += 1;
  }
  let end = 0;
  while (end < most - start && old.at(-1 - end) === now.at(-1 - end)) {
    end += 1;
  }
  const from = Math.max(1, start - SHOWN_AROUND_CHARS);
  const without = Math.max(0, end - SHOWN_AROUND_CHARS);
  const shorten = (line: string): string => {
    const middle = line.slice(from, line.length - without);
    return `${line[0]}${from > 1 ? '…' : ''}${middle}${without > 0 ? '…' : ''}`;
  };
  return [shorten(old), shorten(now)];
}

const COLORS: readonly [RegExp, 'bold' | 'green' | 'red'][] = [
  [/^(---|\+\+\+) /, 'bold'],
  [/^\+/, 'green'],
  [/^-/, 'red'],
];

/** The diff with ANSI colors. */
export function colorChange(patch: string): string {
  const color = (line: string): string => {
    const [, format] = COLORS.find(([pattern]) => pattern.test(line)) ?? [];
    return format === undefined ? line : styleText(format, line, { validateStream: false });
  };
  return patch.split('\n').map(color).join('\n');
}

/** Masks every value of variables and headers, of keys with secret-looking names, and of command-line options with such names. */
function createFileMask(roots: readonly unknown[]): (text: string) => string {
  const env: Record<string, string> = {};
  const args: string[] = [];
  const note = (name: string, value: string): void => {
    // As it is, and as it appears inside JSON quotes.
    for (const text of new Set([value, JSON.stringify(value).slice(1, -1)])) {
      env[`${name} ${Object.keys(env).length}`] = text;
    }
  };
  const walk = (value: unknown, key: string, isInside: boolean): void => {
    if (typeof value === 'string' && (isInside || LIKELY_SECRET_NAME.test(key))) {
      note(key, value);
    } else if (Array.isArray(value)) {
      args.push(...value.filter((item) => typeof item === 'string'), '');
      for (const item of value) {
        walk(item, '', false);
      }
    } else if (isObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        walk(member, name, SECRET_OBJECTS.has(key));
      }
    }
  };
  for (const root of roots) {
    walk(root, '', false);
  }
  return createMask({
    name: '',
    command: '',
    args,
    env,
    cwd: undefined,
    timeoutMs: undefined,
    definitionHash: '',
    file: '',
  });
}
