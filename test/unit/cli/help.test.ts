/** `help TOPIC`: pages of the documentation on the command line. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { parseCommandLine } from '../../../src/app/cli/command-line.ts';
import type { TopicCommand } from '../../../src/app/cli/help/command-line.ts';
import { ERROR_PAGES } from '../../../src/app/cli/help/error-texts.ts';
import { sectionsOf } from '../../../src/app/cli/help/page.ts';
import { help } from '../../../src/app/cli/help/run.ts';
import { renderForTerminal, type TerminalLook } from '../../../src/app/cli/help/terminal-page.ts';
import { TOPIC_NAMES } from '../../../src/app/cli/help/topics.ts';
import { ERROR_CODES } from '../../../src/core/base/errors.ts';
import { SETTINGS_TABLE } from '../../../src/edges/settings/settings.ts';
import { ROOT } from '../../support/bridge-client.ts';

const PLAIN: TerminalLook = { columns: 80, hasColors: false };
const helpOn = (line: string, terminal?: TerminalLook) =>
  help({ command: 'topic', words: line.split(' '), commands: ['servers'] }, terminal);

describe('a topic', () => {
  // This used to be an internal error. Some installers leave out folders called docs.
  it('whose page is missing is refused with a next step', async () => {
    const missing = { words: ['audit'], commands: [], command: 'topic' } as const;
    onTestFinished(() => vi.doUnmock('../../../src/core/base/package.ts'));
    vi.doMock('../../../src/core/base/package.ts', async (original) => ({
      ...(await original<Record<string, unknown>>()),
      PACKAGE_ROOT: new URL('../commands/no-such-package/', import.meta.url),
    }));
    vi.resetModules();
    const withoutDocs = await import('../../../src/app/cli/help/run.ts');
    await expect(withoutDocs.help(missing, undefined)).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      message: expect.stringMatching(/^the page on 'audit' cannot be read: ENOENT/),
      hint: expect.stringContaining('Reinstall the package'),
    });
  });

  it.each(TOPIC_NAMES)('%s is a page whose links all work', async (topic) => {
    const page = await helpOn(topic);
    expect(page).toMatch(/^# .+\n\n/);
    expect(page).not.toMatch(/<!--|\]\((?!https?:)/);
    const named = [...page.matchAll(/`help ([a-z]+(?: [\w-]+)?)`/g)].map(([, line = '']) => line);
    for (const line of new Set(named)) {
      const { command } = await parseCommandLine(['help', ...line.split(' ')]);
      const text = command === 'help' ? '# Usage' : await helpOn(line);
      expect({ line, text }).toEqual({ line, text: expect.stringMatching(/^#+ ./) });
    }
  });

  it('keeps every word except those of links and comments', async () => {
    const source = readFileSync(join(ROOT, 'docs/guide.md'), 'utf8');
    expect(await helpOn('guide')).toBe(
      source
        .replaceAll(/^<!--[^>]*-->\n\n?/gm, '')
        .replaceAll(/\[([^\]]+)\]\((?:\w+\/)?(\w+)\.md#([\w-]+)\)/g, '$1 (`help $2 $3`)')
        .replace(/\[([^\]]+)\]\((?:\w+\/)?(\w+)\.md\)/g, '$1 (`help $2`)'),
    );
    expect(await helpOn('settings')).toContain('how values are written.\n\n## Everyday\n\n| Variable | Default |');
  });

  it('has no pictures', async () => {
    const page = await helpOn('ui', PLAIN);
    expect(page).toContain('Who can use it');
    expect(page).not.toMatch(/<picture>|images\/|srcset/);
  });

  it('shows links as commands, or as plain text if no command prints the target', async () => {
    const page = await helpOn('policy');
    expect(page).toContain('in the entry of a server (`help servers server-files`) takes `rules`');
    expect(page).toContain('also MCP methods (`help policy resources-and-prompts`)');
    expect(await helpOn('security')).toContain('\nTests check each of these.');
    expect(await helpOn('errors')).toContain('| `LIMIT_CALLS` | the cell made too many calls |');
  });

  it('may be followed by a section, as words or as an anchor', async () => {
    const section = await helpOn('deploy kubernetes');
    expect(section).toMatch(/^## Kubernetes\n\n[\s\S]*\n### Sandboxes from a warm pool\n/);
    expect(section).not.toContain('## One container');
    expect(await helpOn('servers server files')).toBe(await helpOn('servers server-files'));
    await expect(helpOn('servers secret')).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      message: expect.stringMatching(/^'servers' has no section 'secret'\. Did you mean 'secrets'/),
    });
  });

  it('that is also a command suggests its subcommands', async () => {
    const line = await parseCommandLine(['help', 'servers', 'lst']);
    await expect(help(line as TopicCommand, undefined)).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      message: expect.stringMatching(/^'servers' has no section or subcommand 'lst'\. Did you mean 'list'/),
    });
  });

  it('that is also a command begins with its usage', async () => {
    const text = await help({ command: 'topic', words: ['policy'], usage: 'Usage: policy\n', commands: [] }, undefined);
    expect(text).toMatch(/^```\nUsage: policy\n```\n\n# Policies/);
  });

  it('is in the package', () => {
    expect(packageJson.files).toEqual(expect.arrayContaining(['docs']));
  });
});

describe('an error code', () => {
  it.each(['CELL_DEADLINE', 'cell_deadline'])('%s shows its meaning, who can fix it and what to do', async (code) => {
    const text = await helpOn(code);
    expect(text).toMatch(/^# CELL_DEADLINE\n\n- \*\*Meaning\*\*: The cell reached its deadline\.\n/);
    expect(text).toContain(`- **What to do**: ${ERROR_PAGES.CELL_DEADLINE.remedy}\n`);
    expect(text).toContain('- **Who can fix it**: Whoever wrote the code');
    expect(text).toMatch(
      /- \*\*Retry\*\*: Retrying does not help unless something changes\.\n- \*\*Exit code\*\*: 124\n$/,
    );
  });

  it.each(Object.keys(ERROR_CODES))('%s fits a terminal', async (code) => {
    const lines = (await helpOn(code, PLAIN)).split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  });
});

describe('a setting', () => {
  it.each(SETTINGS_TABLE.map(({ variable }) => variable))('%s is explained', async (variable) => {
    expect(await helpOn(variable.toLowerCase())).toMatch(
      /^# MCP_\w+\n\n[^\n]+\n\n- \*\*Default\*\*: .+\n- \*\*Allowed\*\*: ./,
    );
    expect(await helpOn(`configuration ${variable}`)).toBe(await helpOn(variable));
  });
});

it.each([
  ['configuraton', "'configuration'"],
  ['SESSION_LOSS', "'SESSION_LOST'"],
  ['severs', "'servers'"],
  ['MCP_BRIDGE_TIMOUT', "'MCP_BRIDGE_TIMEOUT'"],
])('%s is refused with the nearest, and the topics', async (word, near) => {
  await expect(helpOn(word)).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    message: expect.stringMatching(new RegExp(`^there is no help on '${word}'\\. Did you mean .*${near}`)),
    hint: expect.stringContaining(TOPIC_NAMES.join(', ')),
  });
});

it.each(['nonsense', 'foo', 'blah'])('%s resembles no topic', async (word) => {
  await expect(helpOn(word)).rejects.toMatchObject({ message: `there is no help on '${word}'.` });
});

describe('at a terminal', () => {
  const render = (text: string, look: Partial<TerminalLook> = {}) => renderForTerminal(text, { ...PLAIN, ...look });

  it.each(TOPIC_NAMES)('%s has lines that fit, except for code and longer words', async (topic) => {
    const lines = (await helpOn(topic, PLAIN)).split('\n');
    expect(lines.filter((line) => line.length > 80 && !line.startsWith('    ') && !/\S{70}/.test(line))).toEqual([]);
  });

  it.each(TOPIC_NAMES)('%s keeps every word', async (topic) => {
    const wordsOf = (text: string) =>
      text.replaceAll(/^\|[ |:-]*-{3}.*$|^```.*$|<br>/gm, ' ').match(/[\p{L}\p{N}]+/gu) ?? [];
    const counts = new Map<string, number>();
    wordsOf(await helpOn(topic, { columns: 100, hasColors: false })).forEach((word) =>
      counts.set(word, (counts.get(word) ?? 0) + 1),
    );
    wordsOf(await helpOn(topic)).forEach((word) => counts.set(word, (counts.get(word) ?? 0) - 1));
    expect([...counts].filter(([, more]) => more < 0)).toEqual([]);
  });

  it('wraps paragraphs and list items between words', () => {
    const text = 'one two three four five six seven eight nine ten';
    expect(render(`${text}\n${text}\n\n- ${text}\n- b\n1. c`, { columns: 40 })).toBe(
      'one two three four five six seven eight\nnine ten one two three four five six\nseven eight nine ten\n\n' +
        '- one two three four five six seven\n  eight nine ten\n- b\n1. c\n',
    );
  });

  it('shows a narrow table as columns and a wide one row by row', () => {
    const wide = 'x'.repeat(30);
    expect(render('| a | long |\n| --- | --- |\n| one | `x\\|y` |\n| 2 | z |')).toBe('a    long\none  `x|y`\n2    z\n');
    expect(render(`| a | b | c |\n| --- | --- | --- |\n| 1 | ${wide} | ${wide} |\n| 2 | | z |`, { columns: 40 })).toBe(
      `a | b | c\n\n1\n  b: ${wide}\n  c: ${wide}\n\n2\n  c: z\n`,
    );
  });

  it('has colors only if enabled, and otherwise keeps the backticks of code', () => {
    const text = '# T\n\n**Use** `x` of *this*: [a](https://a.example) <https://b.example>';
    expect(render(text)).toBe('# T\n\nUse `x` of this: a (https://a.example) https://b.example\n');
    expect(render(text, { hasColors: true })).toBe(
      '\u001B[1m\u001B[4mT\u001B[24m\u001B[22m\n\n\u001B[1mUse\u001B[22m \u001B[36mx\u001B[39m of this: a (https://a.example) https://b.example\n',
    );
  });
});

it('a section ends before the next heading of its level, and a comment in code is not a heading', () => {
  const page = '# Title\n\n## A\n\n```sh\n# a comment\n```\n\n### B!\n\nb\n\n## `C` and D\n\nc\n';
  expect(sectionsOf(page)).toEqual([
    { slug: 'a', text: '## A\n\n```sh\n# a comment\n```\n\n### B!\n\nb\n' },
    { slug: 'b', text: '### B!\n\nb\n' },
    { slug: 'c-and-d', text: '## `C` and D\n\nc\n' },
  ]);
});
