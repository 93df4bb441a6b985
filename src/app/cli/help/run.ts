/** `help TOPIC`: prints a page of the documentation or one of its sections, an error code, or a setting. */

import { BridgeError, ERROR_CODES, type ErrorCode } from '../../../core/base/errors.ts';
import { COMMAND } from '../../../core/base/package.ts';
import { didYouMean } from '../../../core/base/suggest.ts';
import { SETTINGS_TABLE } from '../../../edges/settings/settings.ts';
import type { TopicCommand } from './command-line.ts';
import { readPage, sectionsOf, slugOf } from './page.ts';
import { renderForTerminal, type TerminalLook } from './terminal-page.ts';
import { isTopic, TOPIC_NAMES, type Topic } from './topics.ts';

const MAX_SHOWN_CHARS = 80;
/** High, because the long names of settings and errors share many words. Chosen so that one wrong letter in a short word still matches. */
const MIN_TOPIC_SCORE = 0.7;

/** The text to print: formatted for `terminal` if it is given, otherwise Markdown. Rejects with `USAGE_INVALID` for an unknown topic. */
export async function help(command: TopicCommand, terminal: TerminalLook | undefined): Promise<string> {
  const markdown = await findHelp(command);
  return terminal === undefined ? markdown : renderForTerminal(markdown, terminal);
}

async function findHelp({ commands, subcommands = [], usage, words }: TopicCommand): Promise<string> {
  const [first = '', ...others] = words;
  const topic = first.toLowerCase();
  if (isTopic(topic)) {
    return others.length === 0 ? withUsage(readPage(topic), usage) : findSection(topic, others.join(' '), subcommands);
  }
  const name = first.toUpperCase();
  const page = others.length === 0 ? await nameHelp(name) : undefined;
  if (page !== undefined) {
    return page;
  }
  const typed = words.join(' ').slice(0, MAX_SHOWN_CHARS);
  const candidates = [
    ...TOPIC_NAMES,
    ...commands,
    ...Object.keys(ERROR_CODES),
    ...SETTINGS_TABLE.map(({ variable }) => variable),
  ];
  throw new BridgeError(
    'USAGE_INVALID',
    `there is no help on '${typed}'.${await didYouMean(typed, candidates, MIN_TOPIC_SCORE)}`,
    {
      hint: `Use a command, an error code, a setting, or one of these topics: ${TOPIC_NAMES.join(', ')}.`,
    },
  );
}

/** The page of an error code or a setting. */
async function nameHelp(name: string): Promise<string | undefined> {
  if (Object.hasOwn(ERROR_CODES, name)) {
    const { renderErrorPage } = await import('./error-texts.ts');
    return renderErrorPage(name as ErrorCode);
  }
  return renderSettingPage(name);
}

/** What docs/reference/settings.md says about one setting, as Markdown; undefined for an unknown name. */
function renderSettingPage(variable: string): string | undefined {
  const setting = SETTINGS_TABLE.find((candidate) => candidate.variable === variable);
  if (setting === undefined) {
    return undefined;
  }
  const standard = setting.default === '' ? 'none' : `\`${setting.default}\``;
  return `# ${variable}

${setting.meaning}

- **Default**: ${standard}
- **Allowed**: ${setting.allowed}

Set it with \`config set\`, or in the \`env\` of the entry that registers the bridge in your MCP client. \`help settings\` lists all settings.
`;
}

async function findSection(topic: Topic, title: string, subcommands: readonly string[]): Promise<string> {
  const sections = sectionsOf(readPage(topic));
  const section = sections.find(({ slug }) => slug === slugOf(title));
  if (section !== undefined) {
    return section.text;
  }
  const setting =
    topic === 'configuration' || topic === 'settings' ? renderSettingPage(title.toUpperCase()) : undefined;
  if (setting !== undefined) {
    return setting;
  }
  const candidates = [...subcommands, ...sections.map(({ slug }) => slug)];
  const guess = await didYouMean(slugOf(title), candidates);
  const kinds = subcommands.length > 0 ? 'section or subcommand' : 'section';
  throw new BridgeError('USAGE_INVALID', `'${topic}' has no ${kinds} '${title.slice(0, MAX_SHOWN_CHARS)}'.${guess}`, {
    hint: `For the whole page, run: ${COMMAND} help ${topic}`,
  });
}

/** Some topics share their name with a command, whose usage then comes first. */
function withUsage(page: string, usage: string | undefined): string {
  return usage === undefined ? page : `\`\`\`\n${usage.trim()}\n\`\`\`\n\n${page}`;
}
