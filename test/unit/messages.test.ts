/**
 * What messages point at: a command that can be run as it stands, and a page that this command prints. Whoever started the
 * bridge with npx has no folder `docs` to look into.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { transformSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/app/cli/command-line.ts';
import { help } from '../../src/app/cli/help/run.ts';
import { createProgram } from '../../src/app/cli/program.ts';
import { ROOT } from '../support/bridge-client.ts';

interface Source {
  readonly file: string;
  /** Without comments. */
  readonly code: string;
}

function sourcesIn(folder: string, extension: string, strip: (text: string) => string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(extension))
    .map((file) => join(folder, file))
    .map((file) => ({ file, code: strip(readFileSync(join(ROOT, file), 'utf8')) }));
}

const withoutComments = (text: string) => transformSync(text, { loader: 'ts', charset: 'utf8' }).code;
const withoutDocstrings = (text: string) => text.replaceAll(/^\s*"""[\s\S]*?"""|^\s*#.*$/gm, '');

const SOURCES = [
  ...sourcesIn('src', '.ts', withoutComments),
  ...sourcesIn('sandbox-runtime/bridge_kernel', '.py', withoutDocstrings),
];

/** Everything in the sources that the first group of the pattern matches, with its file. */
function findAll(pattern: RegExp): { readonly file: string; readonly text: string }[] {
  return SOURCES.flatMap(({ file, code }) =>
    [...code.matchAll(pattern)].map(([whole, text = whole]) => ({ file, text })),
  );
}

it('there are sources to look at, of both languages', () => {
  expect(SOURCES.filter(({ file }) => file.endsWith('.ts')).length).toBeGreaterThan(300);
  expect(SOURCES.filter(({ file }) => file.endsWith('.py')).length).toBeGreaterThan(30);
});

it('no message points at a file of the documentation', () => {
  expect(findAll(/(?<![\w/.])docs\/[\w-]+|\b[\w-]+\.md\b|\b[Ss]ee (?:the )?docs\b|\bREADME\b/g)).toEqual([]);
});

it('no message says to run a command without the name of the program', () => {
  const names = createProgram({ settle: () => undefined, show: () => undefined }).commands.map((one) => one.name());
  expect(findAll(new RegExp(`\\b[Rr]un:? [\\\\\`']*(?:${names.join('|')})\\b[^=]`, 'g'))).toEqual([]);
});

describe('what messages say to run', () => {
  const program = createProgram({ settle: () => undefined, show: () => undefined });
  const named = findAll(/\$\{COMMAND\} ([^`"'\\,:;()]+)/g);

  it('is found in the sources', () => {
    expect(named.length).toBeGreaterThan(20);
  });

  it.each(named)('$text ($file)', ({ text }) => {
    const words = text.trim().split(/[ .]+/);
    let command: Command = program;
    for (const word of words) {
      command = command.commands.find((one) => one.name() === word) ?? command;
    }
    expect(command.name()).not.toBe(program.name());
    const options = ['--help', ...command.options.map(({ long }) => long)];
    expect(options).toEqual(expect.arrayContaining(words.filter((word) => /^--\w/.test(word))));
  });
});

describe('what messages say to read', () => {
  /** Words that stand for what is typed. */
  const PLACEHOLDERS = ['TOPIC', 'CODE'];
  const named = findAll(/(?:\$\{COMMAND\} |`)help (\w+(?: [\w-]+)?)/g).filter(
    ({ text }) => !PLACEHOLDERS.includes(text),
  );

  it('is found in the sources', () => {
    expect(named.length).toBeGreaterThan(10);
  });

  it.each(named)('help $text ($file)', async ({ text }) => {
    const line = await parseCommandLine(['help', ...text.split(' ')]);
    expect(line.command === 'topic' ? await help(line, undefined) : line).toEqual(expect.stringMatching(/\S/));
  });
});
