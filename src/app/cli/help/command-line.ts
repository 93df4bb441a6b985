/** `help`: usage of a command, a page of the documentation, an error code, or a setting. */
import type { Command } from 'commander';
import { ERROR_CODES } from '../../../core/base/errors.ts';
import { SETTINGS_TABLE } from '../../../edges/settings/settings.ts';
import { addNotes, type Settle } from '../../../edges/terminal/define.ts';
import { readPage, sectionsOf } from './page.ts';
import { isTopic, TOPIC_NAMES, TOPICS } from './topics.ts';

/** A request for more than the usage of a command. */
export interface TopicCommand {
  readonly command: 'topic';
  /** At least one word, as typed. */
  readonly words: readonly string[];
  /** The usage of the command with the name of the topic. */
  readonly usage?: string;
  /** All command names, for suggestions. */
  readonly commands: readonly string[];
  /** The subcommands, if the topic is also a group of commands. */
  readonly subcommands?: readonly string[];
}

/** Replaces the library's `help`, which knows only commands. */
export function defineHelp(program: Command, settle: Settle<TopicCommand>): void {
  const help = program
    .helpCommand(false)
    .command('help')
    .summary('show help on a command, a topic, an error code or a setting')
    .description('Show help on a command, a documentation topic, an error code or a setting.')
    .argument('[topic...]', 'a command, a topic (with a section if you like), an error code, or a setting')
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
      'In a pipe, the text is Markdown.',
  );
  help.addHelpText('after', `\nTopics:\n\n${TOPIC_NAMES.map((name) => `- ${name}: ${TOPICS[name]}`).join('\n')}`);
}

/** The completions after `help` and the earlier words. The many names in capitals are offered only once a letter is typed. */
export function helpCandidates(program: Command, [first, ...others]: readonly string[], prefix: string): string[] {
  if (first === undefined) {
    const settings = SETTINGS_TABLE.map(({ variable }) => variable);
    const capitals = prefix === '' ? [] : [...Object.keys(ERROR_CODES), ...settings];
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
    (command, word) => command?.commands.find((further) => [further.name(), ...further.aliases()].includes(word)),
    program,
  );
}
