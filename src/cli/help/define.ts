/** `help`: a command, a page of the documentation, an error or a setting. */
import type { Command } from 'commander';
import { ERROR_CODES } from '../../base/errors.ts';
import { SETTINGS_TABLE } from '../../settings/settings.ts';
import { addNotes, type Settle } from '../../terminal/define.ts';
import { readPage, sectionsOf } from './page.ts';
import { isTopic, TOPIC_NAMES, TOPICS } from './topics.ts';

/** Something else than a command alone is wanted. */
export interface TopicCommand {
  readonly command: 'topic';
  /** As typed; at least one. */
  readonly words: readonly string[];
  /** Help of the command that is called like the topic. */
  readonly usage?: string;
  /** Names of commands, which may have been meant. */
  readonly commands: readonly string[];
  /** Names of its subcommands, if the topic is a command that has some. */
  readonly subcommands?: readonly string[];
}

/** In place of the library's own, which knows commands only. */
export function defineHelp(program: Command, settle: Settle<TopicCommand>): void {
  const help = program
    .helpCommand(false)
    .command('help')
    .summary('show help on a command, a topic, an error code or a setting')
    .description('Show help on a command, a documentation topic, an error code or a setting.')
    .argument('[topic...]', 'a command, a topic with or without a section, an error code, or a setting')
    .action((words: readonly string[]) => {
      const command = find(program, words);
      const [first = ''] = words;
      const topic = { command: 'topic', words, commands: namesOf(program) } as const;
      if (command !== undefined && !(words.length === 1 && isTopic(first))) {
        command.help();
      }
      if (!isTopic(first) && words.length > 1 && namesOf(program).includes(first)) {
        program.error(`error: unknown command '${words.join(' ')}'`);
      }
      const group = find(program, [first]);
      settle({
        ...topic,
        ...(command !== undefined && { usage: command.helpInformation() }),
        ...(words.length > 1 && group !== undefined && { subcommands: namesOf(group) }),
      });
    });
  addNotes(
    help,
    'Examples: help security, help servers secrets, help IMAGE_MISSING, help MCP_BRIDGE_TIMEOUT. ' +
      'Piped, the text is Markdown.',
  );
  help.addHelpText('after', `\nTopics:\n\n${TOPIC_NAMES.map((name) => `- ${name}: ${TOPICS[name]}`).join('\n')}`);
}

/** What may follow `help` and the words before. Names in capitals come once a letter says that one is meant: there are many. */
export function helpCandidates(program: Command, [first, ...others]: readonly string[], begun: string): string[] {
  if (first === undefined) {
    const settings = SETTINGS_TABLE.map(({ variable }) => variable);
    const capitals = begun === '' ? [] : [...Object.keys(ERROR_CODES), ...settings];
    return [...new Set([...namesOf(program), ...TOPIC_NAMES, ...capitals])];
  }
  const command = find(program, [first]);
  const sections = isTopic(first) ? sectionsOf(readPage(first)).map(({ slug }) => slug) : [];
  return others.length > 0 ? [] : [...(command === undefined ? [] : namesOf(command)), ...sections];
}

function namesOf(command: Command): string[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name());
}

function find(program: Command, topic: readonly string[]): Command | undefined {
  return topic.reduce<Command | undefined>(
    (command, word) => command?.commands.find((further) => further.name() === word),
    program,
  );
}
