/** Checks the arguments of a call typed by a person: their names, and values that the tool is certain to refuse. */

import { BridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { quoteShellWord } from '../../core/base/shell-words.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import type { CatalogServer, CatalogTool } from '../../core/catalog/known.ts';
import { signatureHint, type ToolSpec, toolSpec } from '../../core/catalog/tool-spec.ts';
import { createSchemaCheck, type SchemaCheck } from './schema-check.ts';

/** Arguments as typed, under either their original or their Python names. */
type Given = readonly (readonly [name: string, value: unknown])[];

/** The arguments under their original names. Rejects with `TOOL_ARGUMENT_INVALID` for arguments that the tool is certain to refuse. */
export async function checkToolArguments(
  server: CatalogServer,
  tool: CatalogTool,
  given: Given,
): Promise<Record<string, unknown>> {
  return checkArguments(tool, given, {
    label: `${server.name}.${tool.name}`,
    allOfIt: `${COMMAND} servers tools ${quoteShellWord(server.name)} --json`,
    data: { server: server.name, tool: tool.name },
  });
}

interface Called {
  /** The name in messages. */
  readonly label: string;
  /** The command that shows the whole signature. */
  readonly allOfIt: string;
  readonly data: Readonly<Record<string, string>>;
}

/** The same for anything with parameters. */
export async function checkArguments(
  tool: CatalogTool,
  given: Given,
  { allOfIt, data, label }: Called,
): Promise<Record<string, unknown>> {
  const spec = toolSpec(tool);
  const refuse = (place: string, text: string): BridgeError =>
    new BridgeError('TOOL_ARGUMENT_INVALID', `${label}: ${place} ${text}`, {
      hint: signatureHint(spec, `\`${allOfIt}\``),
      data: { ...data, argument: place },
    });
  const check = await createSchemaCheck(spec.input_schema);
  const named = await bind(spec, given, check, refuse);
  const missing = spec.parameters.filter(({ name, required }) => required && !Object.hasOwn(named, name));
  if (missing.length > 0) {
    const places = missing.map(({ alias }) => alias).join(', ');
    throw refuse(places, missing.length === 1 ? 'is missing' : 'are missing');
  }
  const problem = await check.find(named);
  if (problem !== undefined) {
    throw refuse(placeOf(problem.path, spec), problem.text);
  }
  return named;
}

type Refuse = (place: string, text: string) => BridgeError;

async function bind(
  spec: ToolSpec,
  given: Given,
  check: SchemaCheck,
  refuse: Refuse,
): Promise<Record<string, unknown>> {
  // Original names come last, so that they override Python names.
  const originals = new Map([
    ...spec.parameters.map(({ alias, name }) => [alias, name] as const),
    ...spec.parameters.map(({ name }) => [name, name] as const),
  ]);
  const bound = new Map<string, unknown>();
  for (const [key, value] of given) {
    const name = originals.get(key) ?? key;
    if (bound.has(name)) {
      throw refuse(key, 'was given twice');
    }
    if (!originals.has(key) && !spec.open) {
      const known = spec.parameters.map(({ alias }) => alias);
      throw refuse(key, `is not a parameter of this tool.${await didYouMean(key, known)}`.replace(/\.$/, ''));
    }
    bound.set(name, value);
  }
  // fromEntries defines members, so a key `__proto__` is data like any other.
  return Object.fromEntries([...bound].filter(([name, value]) => value !== null || !isLeftOut(spec, name, check)));
}

/** Whether null means "not given": the parameter is optional, and its schema does not allow null. */
function isLeftOut({ parameters }: ToolSpec, name: string, check: SchemaCheck): boolean {
  const parameter = parameters.find((one) => one.name === name);
  return parameter !== undefined && !parameter.required && check.refusesNull(name);
}

/** A path such as `filters.labels[0]`, with the first name as Python spells it. */
function placeOf([first, ...rest]: readonly string[], { parameters }: ToolSpec): string {
  if (first === undefined) {
    return 'the arguments';
  }
  const name = parameters.find((one) => one.name === first)?.alias ?? first;
  return `${name}${rest.map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`)).join('')}`;
}
