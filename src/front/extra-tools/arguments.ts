/** Reads the arguments of the extra tools. What is invalid is a protocol error that names the argument and what is allowed. */
import { BridgeError } from '../../core/base/errors.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import { shownArgument } from '../server/arguments.ts';
import { invalidCall } from '../server/front-tool.ts';

/** Arguments by name, without those that are null: some clients send null for every optional argument. */
export type Arguments = Readonly<Record<string, unknown>>;

/** Rejects if there is an argument of another name. */
export async function readArguments(given: unknown, allowed: readonly string[]): Promise<Arguments> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw refuse(`The arguments are ${shownArgument(given)}; an object is needed.`, 'Send an object.');
  }
  const unknown = Object.keys(given).find((name) => !allowed.includes(name));
  if (unknown !== undefined) {
    const guess = (await didYouMean(unknown, allowed)).trim();
    const list = allowed.length === 0 ? 'there are none' : `allowed are ${allowed.join(', ')}`;
    throw refuse(`There is no argument ${shownArgument(unknown)}; ${list}.`, guess || 'Leave it out.');
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== undefined));
}

/** A text that is not blank; undefined if the argument was left out. */
export function readText(given: Arguments, name: string): string | undefined {
  const value = given[name];
  if (value === undefined) {
    return undefined;
  }
  if (typeof value !== 'string') {
    throw refuse(`\`${name}\` is ${shownArgument(value)}; it must be a string.`, `Send \`${name}\` as a string.`);
  }
  if (value.trim() === '') {
    throw refuse(`\`${name}\` is blank.`, `Send text, or leave \`${name}\` out.`);
  }
  return value;
}

/** A list of texts; empty if the argument was left out. */
export function readTexts(given: Arguments, name: string): readonly string[] {
  const value = given[name] ?? [];
  if (!Array.isArray(value)) {
    throw refuse(
      `\`${name}\` is ${shownArgument(value)}; it must be a list of strings.`,
      'Send a list such as ["pandas"].',
    );
  }
  const wrong = value.findIndex((item) => typeof item !== 'string' || item.trim() === '');
  if (wrong !== -1) {
    throw refuse(
      `\`${name}[${wrong}]\` is ${shownArgument(value[wrong])}; it must be a string that is not blank.`,
      'Send a list such as ["pandas"].',
    );
  }
  return value as readonly string[];
}

/** Runs a check of `run_python`; what it refuses is a protocol error here. */
export function checkedArgument<Value>(check: () => Value): Value {
  try {
    return check();
  } catch (error) {
    throw error instanceof BridgeError ? invalidCall(error) : error;
  }
}

export function refuse(message: string, hint: string): Error {
  return invalidCall(new BridgeError('ARGUMENT_INVALID', message, { hint }));
}
