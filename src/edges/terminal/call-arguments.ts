/**
 * Parses arguments typed as `name=value`, by the input schema of the tool. A value that does not parse stays text, and the check of
 * arguments then reports it.
 */
import { readFile } from 'node:fs/promises';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { follow, listOf, type Schema } from '../../core/catalog/json-schema.ts';
import { parametersOf } from '../../core/catalog/parameters.ts';
import { parseExact } from '../../core/protocol/exact-json.ts';

/** Limit for nested alternatives in the schema of one parameter, because a hostile schema may never end. Chosen. */
const MAX_SCHEMAS = 500;
const FILE_MARK = '@';

/** A name and the text typed for it. */
export type Pair = readonly [name: string, text: string];

/**
 * Splits `name=value`. The value `@FILE` is the content of that file; `@@TEXT` is a text that begins with one `@`. Rejects with
 * `USAGE_INVALID`.
 */
export async function readPairs(words: readonly string[]): Promise<Pair[]> {
  return Promise.all(
    words.map(async (word): Promise<Pair> => {
      const equals = word.indexOf('=');
      if (equals < 1) {
        throw new BridgeError('USAGE_INVALID', `'${word}' is not a tool argument of the form name=value`, {
          hint: "Write each argument as name=value, or all of them as JSON: --json-args '{…}'.",
        });
      }
      const text = word.slice(equals + 1);
      const isFile = text.startsWith(FILE_MARK) && !text.startsWith(FILE_MARK.repeat(2));
      return [word.slice(0, equals), isFile ? await readText(text.slice(1)) : text.replace(/^@@/, FILE_MARK)];
    }),
  );
}

/** The value of each name, parsed by the schema. A repeated name makes a list if the schema allows one. */
export function typeArguments(pairs: readonly Pair[], inputSchema: Schema): [string, unknown][] {
  const parameters = parametersOf(inputSchema).list;
  const names = [...new Set(pairs.map(([name]) => name))];
  return names.flatMap((name): [string, unknown][] => {
    const texts = pairs.filter(([key]) => key === name).map(([, text]) => text);
    const parameter = parameters.find((one) => one.name === name) ?? parameters.find((one) => one.alias === name);
    const kind = kindOf(parameter?.schema, inputSchema);
    if (texts.length > 1 && (kind.types === undefined || kind.types.has('array'))) {
      return [[name, texts.map((text) => typed(text, kindOf(kind.items, inputSchema), inputSchema))]];
    }
    // Repeated, but not a list: the check of arguments refuses it.
    return texts.map((text) => [name, typed(text, kind, inputSchema)]);
  });
}

/** Parses the JSON object of `--json-args`. Throws `USAGE_INVALID`. */
export function readJsonArguments(text: string): [string, unknown][] {
  let value: unknown;
  try {
    value = parseExact(text);
  } catch (error) {
    throw notAnObject(messageOf(error));
  }
  if (!isObject(value)) {
    throw notAnObject('it is another type of value');
  }
  return Object.entries(value);
}

function notAnObject(why: string): BridgeError {
  return new BridgeError('USAGE_INVALID', `--json-args must be a JSON object: ${why}`, {
    hint: `For example --json-args '{"path": "/x"}', or --json-args - to read it from stdin.`,
  });
}

/** What a schema allows, as far as it matters for parsing text. */
interface Kind {
  /** Type names of JSON Schema; undefined if anything is allowed. */
  readonly types: ReadonlySet<string> | undefined;
  /** The schema of the items of a list. */
  readonly items?: unknown;
}

function kindOf(schema: unknown, root: Schema, budget = { schemas: MAX_SCHEMAS }): Kind {
  const facts = follow(schema, root);
  budget.schemas -= 1;
  if (!isObject(facts) || budget.schemas < 0) {
    return { types: undefined };
  }
  const literals = Object.hasOwn(facts, 'const') ? [facts['const']] : listOf(facts['enum']);
  const named = typeof facts['type'] === 'string' ? [facts['type']] : listOf(facts['type']);
  const own = named.length > 0 ? named.map(String) : literals.map(typeOf);
  const branches = [...listOf(facts['anyOf']), ...listOf(facts['oneOf'])].map((one) => kindOf(one, root, budget));
  const items = facts['items'] ?? branches.find((branch) => branch.items !== undefined)?.items;
  const nullable = facts['nullable'] === true ? ['null'] : [];
  if (own.length > 0) {
    return { types: new Set([...own, ...nullable]), items };
  }
  const isAny = branches.length === 0 || branches.some(({ types }) => types === undefined);
  const all = branches.flatMap(({ types }) => [...(types ?? [])]);
  return isAny
    ? { types: kindOfAll(facts, root, budget).types, items }
    : { types: new Set([...all, ...nullable]), items };
}

/** The first part of `allOf` that restricts the type. */
function kindOfAll(facts: Schema, root: Schema, budget: { schemas: number }): Kind {
  const parts = listOf(facts['allOf']).map((one) => kindOf(one, root, budget));
  return parts.find(({ types }) => types !== undefined) ?? { types: undefined };
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

/** Where a string is allowed, the text stays one, unless it is a list or an object and those are allowed too. */
function typed(text: string, { types, items }: Kind, root: Schema): unknown {
  const parsed = parseOrUndefined(text);
  if (types === undefined) {
    return parsed === undefined || typeof parsed === 'string' ? text : parsed;
  }
  const isContainer = Array.isArray(parsed) || (isObject(parsed) && /^\s*\{/.test(text));
  const fits = parsed !== undefined && [...types].some((type) => isOfType(parsed, text, type));
  if (fits && (isContainer || !types.has('string'))) {
    return parsed;
  }
  const isOnlyMember = types.has('array') && !types.has('string') && !/^\s*\[/.test(text);
  return isOnlyMember ? [typed(text, kindOf(items, root), root)] : text;
}

function isOfType(value: unknown, text: string, type: string): boolean {
  const isNumber = typeof value === 'number' || (isObject(value) && !/^\s*\{/.test(text));
  return type === 'integer' || type === 'number' ? isNumber : !isNumber && typeOf(value) === type;
}

function parseOrUndefined(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined; // Not JSON, so it is text.
  }
}

async function readText(file: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(file));
  } catch (cause) {
    throw new BridgeError('USAGE_INVALID', `could not read ${file} as UTF-8 text: ${messageOf(cause)}`, {
      hint: `A value that begins with ${FILE_MARK} is read from a file; for text that begins with ${FILE_MARK}, write ${FILE_MARK.repeat(2)}.`,
      cause,
    });
  }
}
