/** Asks questions at a terminal, one field after the other. */
import { createInterface, type Interface } from 'node:readline/promises';
import type { FieldValue, Person, Question, Reply } from '../../core/base/cell.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { escapeInLines } from '../../core/base/log.ts';
import { listOf, type Schema } from '../../core/catalog/json-schema.ts';
import { oneLine } from '../../core/catalog/visible.ts';

export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

const MAX_LABEL_CHARS = 300;

/** A person who reads and types at `terminal`. An empty answer to a required field without a default cancels the question. */
export function createTerminalPerson({ input, output }: Terminal): Person {
  return {
    opensPages: false,
    async ask(question, signal) {
      const lines = createInterface({ input, output });
      const closed = new AbortController();
      // Ctrl-C and the end of input cancel the question.
      lines.once('SIGINT', () => closed.abort()).once('close', () => closed.abort());
      try {
        return await askForm(question, lines, AbortSignal.any([signal, closed.signal]), output);
      } catch (error) {
        if (closed.signal.aborted && !signal.aborted) {
          return { action: 'cancel' };
        }
        throw error;
      } finally {
        lines.close();
      }
    },
  };
}

async function askForm(
  question: Question,
  lines: Interface,
  signal: AbortSignal,
  output: NodeJS.WritableStream,
): Promise<Reply> {
  if (question.mode !== 'form') {
    return { action: 'cancel' };
  }
  const { properties, required } = question.requestedSchema;
  const content: Record<string, FieldValue> = {};
  output.write(`${escapeInLines(question.message)}\n`);
  for (const [name, schema] of Object.entries(isObject(properties) ? properties : {})) {
    const value = await askField(name, isObject(schema) ? schema : {}, (prompt) => lines.question(prompt, { signal }));
    if (value !== undefined) {
      content[name] = value;
    } else if (listOf(required).includes(name)) {
      return { action: 'cancel' };
    }
  }
  return { action: 'accept', content };
}

/** The default, or undefined, for an empty line. Asks again until the answer is valid. */
async function askField(
  name: string,
  schema: Schema,
  ask: (prompt: string) => Promise<string>,
): Promise<FieldValue | undefined> {
  const choices = choicesOf(schema);
  const title = [schema['title'] ?? name, schema['description']].filter((word) => typeof word === 'string').join(': ');
  const listed = choices.map(({ label }, index) => `  ${index + 1}) ${oneLine(label, MAX_LABEL_CHARS)}\n`).join('');
  const form = choices.length > 0 ? 'number' : formOf(schema);
  const empty = describeDefault(defaultOf(schema));
  for (;;) {
    const typed = (await ask(`${oneLine(title, MAX_LABEL_CHARS)}\n${listed}(${form}; empty: ${empty}) `)).trim();
    const value = typed === '' ? undefined : readField(typed, schema, choices);
    if (typed === '' || value !== undefined) {
      return value ?? defaultOf(schema);
    }
  }
}

/** The values of a form, from the texts that someone has typed for its fields. Throws `USAGE_INVALID`. */
export function fillForm(
  { properties, required }: Readonly<Record<string, unknown>>,
  typed: ReadonlyMap<string, string>,
): Record<string, FieldValue> {
  const fields = isObject(properties) ? properties : {};
  const unknown = [...typed.keys()].find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) {
    const hint = `Its fields: ${oneLine(Object.keys(fields).join(', ') || 'none', MAX_LABEL_CHARS)}.`;
    throw new BridgeError('USAGE_INVALID', `the form has no field '${unknown}'`, { hint });
  }
  const values = Object.entries(fields).map(([name, given]): [string, FieldValue | undefined] => {
    const schema = isObject(given) ? given : {};
    const [text, choices] = [typed.get(name), choicesOf(schema)];
    const value = text === undefined ? defaultOf(schema) : readField(text, schema, choices);
    if (value === undefined && (text !== undefined || listOf(required).includes(name))) {
      const form = choices.map((one) => one.value).join(', ') || formOf(schema);
      throw new BridgeError('USAGE_INVALID', `the field '${oneLine(name, MAX_LABEL_CHARS)}' needs another value`, {
        hint: `It takes: ${oneLine(form, MAX_LABEL_CHARS)}.`,
      });
    }
    return [name, value];
  });
  return Object.fromEntries(values.filter((entry): entry is [string, FieldValue] => entry[1] !== undefined));
}

/** What people type for a value that is not chosen. */
function formOf({ type }: Schema): string {
  return type === 'boolean' ? 'y or n' : typeof type === 'string' ? type : 'text';
}

interface Choice {
  readonly value: string;
  readonly label: string;
}

/** The choices of a field; for a multiple-choice field, those of its items. */
function choicesOf(schema: Schema): Choice[] {
  const facts = schema['type'] === 'array' && isObject(schema['items']) ? schema['items'] : schema;
  const names = listOf(facts['enumNames']);
  const plain = listOf(facts['enum']).map((value, index) => ({ value, label: names[index] ?? value }));
  const titled = [...listOf(facts['oneOf']), ...listOf(facts['anyOf'])]
    .filter(isObject)
    .map((one) => ({ value: one['const'], label: one['title'] ?? one['const'] }));
  return [...plain, ...titled].map(({ value, label }) => ({ value: String(value), label: String(label) }));
}

function readField(typed: string, schema: Schema, choices: readonly Choice[]): FieldValue | undefined {
  const choose = (word: string): string | undefined =>
    choices[Number(word) - 1]?.value ?? choices.find(({ value }) => value === word)?.value;
  switch (schema['type']) {
    case 'array': {
      const chosen = typed.split(/[\s,]+/).map(choose);
      return chosen.every((value) => value !== undefined) ? chosen : undefined;
    }
    case 'boolean':
      return /^y(es)?$/i.test(typed) ? true : /^no?$/i.test(typed) ? false : undefined;
    case 'number':
    case 'integer': {
      const value = Number(typed);
      return Number.isFinite(value) && (schema['type'] === 'number' || Number.isInteger(value)) ? value : undefined;
    }
    default:
      return choices.length > 0 ? choose(typed) : typed;
  }
}

function describeDefault(value: FieldValue | undefined): string {
  if (typeof value === 'boolean') {
    return value ? 'y' : 'n';
  }
  return value === undefined ? 'no answer' : oneLine(String(value), MAX_LABEL_CHARS);
}

function defaultOf(schema: Schema): FieldValue | undefined {
  const value = schema['default'];
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}
