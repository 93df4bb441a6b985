/** What the definitions of commands share. Everything a person may type stands in this folder; docs/reference/commands.md is made from it. */
import { type Command, InvalidArgumentError, Option } from 'commander';

export { COMMAND_NAME } from '../base/package.ts';

/** Hands over what was understood; called once. */
export type Settle<Line> = (line: Line) => void;

const notes = new WeakMap<Command, string>();

/** Words below the options, in the help and in docs/reference/commands.md: exit codes, examples. */
export function addNotes(command: Command, text: string): void {
  notes.set(command, text);
  command.addHelpText('after', `\n${text}`);
}

export function notesOf(command: Command): string | undefined {
  return notes.get(command);
}

/** A group of subcommands that was defined before, for a feature that adds to it. */
export function findGroup(program: Command, name: string): Command {
  const group = program.commands.find((command) => command.name() === name);
  if (group === undefined) {
    throw new Error(`There is no command ${name} to add to.`);
  }
  return group;
}

/** For every command that prints something a program may want to read. */
export function jsonOption(): Option {
  return new Option('--json', 'print JSON, for programs');
}

/** Reads a whole number from `min` to `max`; `what` says so, for example `a whole number of seconds`. */
export function wholeNumber(what: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be ${what}.`);
    }
    return value;
  };
}

/** Reads an option that may be given several times. */
export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}
