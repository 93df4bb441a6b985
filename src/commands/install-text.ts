/** What `install` shows of a change: the lines that differ, without the secrets of the file. */
import { styleText } from 'node:util';
import { createTwoFilesPatch } from 'diff';
import { isObject } from '../clients/format.ts';
import { createMask, SECRET_NAME } from '../upstream/mask.ts';
import type { FileChange } from './install-plan.ts';

/** Objects whose values are variables or headers. */
const SECRET_OBJECTS: ReadonlySet<string> = new Set(['env', 'environment', 'envs', 'headers', 'http_headers']);
/** Some clients keep histories in the same file, in lines of any length. */
const MAX_LINE_CHARS = 200;

/** A unified diff of one change; secrets are `***`. */
export function renderChange({ file, next, format }: FileChange): string {
  const [before, after] = [file.text ?? '', next ?? ''];
  const mask = createFileMask([format.parse(before), format.parse(after)]);
  const patch = createTwoFilesPatch(
    file.text === undefined ? '(no file)' : file.path,
    next === undefined ? '(no file)' : file.path,
    before,
    after,
    '',
    '',
    { context: 2 },
  );
  const lines = mask(patch)
    .split('\n')
    .filter((line) => !/^=+$/.test(line));
  return lines.map((line) => (line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}…` : line)).join('\n');
}

const COLOURS: readonly [RegExp, 'bold' | 'green' | 'red'][] = [
  [/^(---|\+\+\+) /, 'bold'],
  [/^\+/, 'green'],
  [/^-/, 'red'],
];

/** The same for a terminal that knows colours. */
export function colourChange(patch: string): string {
  const colour = (line: string): string => {
    const [, format] = COLOURS.find(([pattern]) => pattern.test(line)) ?? [];
    return format === undefined ? line : styleText(format, line, { validateStream: false });
  };
  return patch.split('\n').map(colour).join('\n');
}

/** Masks every value of variables and headers, of keys with secret names, and of options with such names. */
function createFileMask(roots: readonly unknown[]): (text: string) => string {
  const env: Record<string, string> = {};
  const args: string[] = [];
  const note = (name: string, value: string): void => {
    // As it is, and as it is written inside quotes.
    for (const text of new Set([value, JSON.stringify(value).slice(1, -1)])) {
      env[`${name} ${Object.keys(env).length}`] = text;
    }
  };
  const walk = (value: unknown, key: string, isInside: boolean): void => {
    if (typeof value === 'string' && (isInside || SECRET_NAME.test(key))) {
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
