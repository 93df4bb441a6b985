/** Helpers for defining commands. docs/reference/commands.md is generated from the definitions. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDurationMs } from '../base/units.ts';
import { TOKEN_NAME } from '../state/principals.ts';

export { COMMAND_NAME, SHORT_NAME } from '../base/package.ts';

/** Receives the parsed command line; called once. */
export type Settle<Line> = (line: Line) => void;

const notes = new WeakMap<Command, string>();

/**
 * Adds text below the options, such as exit codes and examples, in `--help` and in docs/reference/commands.md. Indented lines are
 * code; the help wraps the others.
 */
export function addNotes(command: Command, text: string): void {
  notes.set(command, text);
  const lines = text.split('\n').map((line) => (line.startsWith('    ') ? line : wrap(line)));
  command.addHelpText('after', `\n${lines.join('\n')}`);
}

const LINE_CHARS = 80;

function wrap(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) === '' ? word : `${lines.at(-1)} ${word}`;
    if (line.length > LINE_CHARS) {
      lines.push(word);
    } else {
      lines[lines.length - 1] = line;
    }
  }
  return lines.join('\n');
}

export function notesOf(command: Command): string | undefined {
  return notes.get(command);
}

/** The group of subcommands that another feature defined earlier, to add to it. */
export function findGroup(program: Command, name: string): Command {
  const group = program.commands.find((command) => command.name() === name);
  if (group === undefined) {
    throw new Error(`no command '${name}' is defined yet`);
  }
  return group;
}

/** The option of every command whose output a program may want to read. */
export function jsonOption(): Option {
  return new Option('--json', 'print JSON');
}

/** Whose part of something a command is about. */
export function principalOption(what: string): Option {
  return new Option('--for <principal>', what).argParser((text) => {
    // An address is what OAuth calls someone.
    if (!TOKEN_NAME.test(text) && !/^https?:\/\/\P{Cc}{1,1000}$/u.test(text)) {
      throw new InvalidArgumentError('It must be the name of a token, or a principal as in the audit log.');
    }
    return text;
  });
}

/** A parser for whole numbers from `min` to `max`; `what` describes them in the error, such as `a whole number of seconds`. */
export function wholeNumber(what: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be ${what}.`);
    }
    return value;
  };
}

/** What `pointInTime` reads, for the help of an option. */
export const POINT_IN_TIME = '30m, 2h, 7d, or a time such as 2026-11-21 or 2026-11-21T17:00Z';

/** A point in time, or a duration before now; in milliseconds since 1970. */
export function pointInTime(text: string): number {
  const agoMs = parseDurationMs(text);
  const timeMs = Number.isNaN(agoMs) ? Date.parse(text) : Date.now() - agoMs;
  if (Number.isNaN(timeMs) || timeMs < 0) {
    throw new InvalidArgumentError(
      'It must be a duration such as 30m, 2h or 7d, or a date or time such as 2026-11-21.',
    );
  }
  return timeMs;
}

/** Collects the values of an option that may be repeated. */
export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}
