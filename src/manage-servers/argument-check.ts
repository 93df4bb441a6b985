/** The arguments of a call that a person makes, checked as those of code are: the same refusals in the same words (`specs.py` of the kernel). */

import { BridgeError } from '../base/errors.ts';
import { isObject } from '../base/is-object.ts';
import { didYouMean } from '../base/suggest.ts';
import type { CatalogServer, CatalogTool } from '../catalog/known.ts';
import { type ToolSpec, toolSpec } from '../catalog/tool-spec.ts';
import { findProblem } from './schema-check.ts';

const MAX_SIGNATURE_CHARS = 600;

/** An argument as it was given: by either of its names. */
type Given = readonly (readonly [name: string, value: unknown])[];

/** The arguments under the names that the server knows. Rejects with `TOOL_ARGUMENT_INVALID` for what the tool certainly refuses. */
export async function checkToolArguments(
  server: CatalogServer,
  tool: CatalogTool,
  given: Given,
): Promise<Record<string, unknown>> {
  const spec = toolSpec(tool);
  const refuse = (place: string, text: string): BridgeError => {
    const { signature } = spec;
    const isLong = signature.length > MAX_SIGNATURE_CHARS;
    const shown = isLong ? `${signature.slice(0, MAX_SIGNATURE_CHARS)}…` : signature;
    return new BridgeError('TOOL_ARGUMENT_INVALID', `${server.name}.${tool.name}: ${place} ${text}`, {
      hint: `The signature is ${shown}.`,
      data: { server: server.name, tool: tool.name, argument: place },
    });
  };
  const named = await bind(spec, given, refuse);
  const missing = spec.parameters.filter(({ name, required }) => required && !Object.hasOwn(named, name));
  if (missing.length > 0) {
    const places = missing.map(({ alias }) => alias).join(', ');
    throw refuse(places, missing.length === 1 ? 'is missing' : 'are missing');
  }
  const problem = findProblem(named, spec.input_schema, spec.input_schema);
  if (problem !== undefined) {
    const near = problem.guess === undefined ? '' : await didYouMean(problem.guess.word, problem.guess.known);
    throw refuse(placeOf(problem.path, spec), near === '' ? problem.text : `${problem.text}.${near}`);
  }
  return named;
}

type Refuse = (place: string, text: string) => BridgeError;

async function bind(spec: ToolSpec, given: Given, refuse: Refuse): Promise<Record<string, unknown>> {
  // What the server itself calls a parameter means that parameter.
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
  return Object.fromEntries([...bound].filter(([name, value]) => value !== null || !isLeftOut(spec, name)));
}

/** Whether null means "not given": the parameter is optional, and its schema allows no null. */
function isLeftOut({ parameters, input_schema: schema }: ToolSpec, name: string): boolean {
  const parameter = parameters.find((one) => one.name === name);
  if (parameter === undefined || parameter.required) {
    return false;
  }
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  return findProblem(null, Object.hasOwn(properties, name) ? properties[name] : undefined, schema) !== undefined;
}

/** `filters.labels[0]`, with the first name as Python spells it. */
function placeOf([first, ...rest]: readonly (string | number)[], { parameters }: ToolSpec): string {
  if (first === undefined) {
    return 'the arguments';
  }
  const name = parameters.find((one) => one.name === first)?.alias ?? first;
  return `${name}${rest.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')}`;
}
