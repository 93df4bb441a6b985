/** `exec --tool` and schedules: the arguments of a saved function, and the cell that calls it. */

import { COMMAND } from '../../core/base/package.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import { checkArguments } from './argument-check.ts';
import { readJsonArguments, readPairs, typeArguments } from './call-arguments.ts';
import type { KeptFunction } from './command.ts';

/** Prints as the text that it holds, so that the value of the cell is JSON. */
const JSON_TEXT = 'type("JSON", (str,), {"__repr__": str.__str__})(__import__("json").dumps(__value, default=str))';

/**
 * The arguments as typed, checked against the signature. Rejects with `USAGE_INVALID` for what is no argument, and with
 * `TOOL_ARGUMENT_INVALID` for arguments that are missing, unknown or of another type.
 */
export async function argumentsOfFunction(
  words: readonly string[],
  json: string | undefined,
  { inputSchema, name, summary: description }: KeptFunction,
): Promise<Record<string, unknown>> {
  const pairs = await readPairs(words);
  const typed = [...(json === undefined ? [] : readJsonArguments(json)), ...typeArguments(pairs, inputSchema)];
  const tool = { name, alias: name, description, inputSchema };
  return checkArguments(tool, typed, { label: name, allOfIt: `${COMMAND} tools show ${name}`, data: { tool: name } });
}

/** The cell. Its imports let the session install what the function needs, as for any cell. */
export function cellFor(
  { imports, isAsync, name, positional }: KeptFunction,
  given: Readonly<Record<string, unknown>>,
  isJson: boolean,
): string {
  const first = positional.filter((parameter) => Object.hasOwn(given, parameter));
  const named = Object.entries(given).filter(([parameter]) => !first.includes(parameter));
  const values = first.map((parameter) => literal(given[parameter]));
  const parts = [
    ...values.map((value) => `*[${value}]`),
    ...(named.length === 0 ? [] : [`**${literal(Object.fromEntries(named))}`]),
  ];
  const call = `${isAsync ? 'await ' : ''}${name}(${parts.join(', ')})`;
  const lines = isJson ? [`__value = ${call}`, JSON_TEXT] : [call];
  return [...imports.filter((line) => !/[(\\;]/.test(line)), `from user_tools import ${name}`, ...lines].join('\n');
}

/** Python that makes the value. JSON in a JSON string is a literal of Python, too. */
function literal(value: unknown): string {
  return `__import__("json").loads(${JSON.stringify(stringifyExact(value))})`;
}
