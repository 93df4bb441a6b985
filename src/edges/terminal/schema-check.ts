/**
 * Checks values against a tool's input schema, and describes what is certain to be wrong. Uses the validator of the MCP client. If it
 * cannot compile the schema, or takes too long, the value passes and the server checks it.
 */

import { runInNewContext } from 'node:vm';
import { isObject } from '../../core/base/is-object.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import type { Schema } from '../../core/catalog/json-schema.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import { loadAjv } from '../upstream/handshake.ts';
import { looseSchema } from './loose-schema.ts';

/** What is wrong, and where. */
export interface Problem {
  /** The path from the checked value to the wrong part. */
  readonly path: readonly string[];
  readonly text: string;
}

export interface SchemaCheck {
  /** The first certain problem of `value`. */
  find(value: unknown): Promise<Problem | undefined>;
  /** Whether the schema of a property is certain to refuse null. */
  refusesNull(property: string): boolean;
}

/** An error of the validator about one keyword. */
interface Failure {
  readonly keyword: string;
  /** A JSON pointer (RFC 6901). */
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string | undefined;
  readonly schema?: unknown;
  readonly parentSchema?: Schema | undefined;
  readonly data?: unknown;
}

/** A hostile schema can refer to itself so that validation never ends. Chosen: a real one takes milliseconds. */
const TIME_LIMIT_MS = 1_000;
/** The key of the only schema in the validator. */
const KEY = 'tool';
const MAX_SHOWN_CHARS = 80;
const MAX_CHOICES = 20;

/** Type names as in signatures. */
const PYTHON_TYPES: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  array: 'list',
  object: 'dict',
  null: 'None',
};

export async function createSchemaCheck(schema: Schema): Promise<SchemaCheck> {
  const Ajv = await loadAjv();
  const ajv = new Ajv({
    strict: false,
    validateSchema: false,
    meta: false,
    verbose: true,
    inlineRefs: false,
    ownProperties: true,
    logger: false,
  });
  const failuresOf = (value: unknown, pointer = ''): readonly Failure[] =>
    inTime(() => {
      if (ajv.schemas[KEY] === undefined) {
        ajv.addSchema(looseSchema(asNumbers(schema) as Schema), KEY);
      }
      const validate = ajv.getSchema(`${KEY}#${pointer}`);
      return validate?.(asNumbers(value)) === false ? (validate.errors ?? []) : [];
    });
  return {
    async find(value) {
      const failure = nearest(failuresOf(value));
      return failure && describe(failure);
    },
    refusesNull(property) {
      const name = encodeURIComponent(property.replaceAll('~', '~0').replaceAll('/', '~1'));
      return failuresOf(null, `/properties/${name}`).length > 0;
    },
  };
}

/** No failures if the validator does not support the schema or takes too long. */
function inTime(find: () => readonly Failure[]): readonly Failure[] {
  try {
    return runInNewContext('find()', { find }, { timeout: TIME_LIMIT_MS }) as readonly Failure[];
  } catch {
    return []; // The server has the last word anyway.
  }
}

/** Replaces exact numbers beyond 2^53 with the nearest JavaScript number. */
function asNumbers(value: unknown): unknown {
  return JSON.parse(stringifyExact(value));
}

/** The failure to report. If no alternative matches, the failure of the closest one. */
function nearest(failures: readonly Failure[]): Failure | undefined {
  const last = failures.at(-1);
  if (last?.keyword !== 'anyOf') {
    return last;
  }
  const leaves = failures.filter(({ keyword }) => keyword !== 'anyOf');
  const deepest = leaves.reduce((best, one) => (depthOf(one) > depthOf(best) ? one : best), last);
  if (depthOf(deepest) > depthOf(last)) {
    return deepest;
  }
  const expected = leaves.map(expectedBy);
  return expected.includes(undefined) ? (leaves[0] ?? last) : { ...last, params: { expected } };
}

function depthOf({ instancePath }: Failure): number {
  return instancePath.split('/').length;
}

/** A description of valid values; undefined if the keyword does not determine them. */
function expectedBy({ keyword, params }: Failure): string | undefined {
  switch (keyword) {
    case 'type':
      return [params['type']]
        .flat()
        .map((type) => PYTHON_TYPES[String(type)])
        .join(' or ');
    case 'const':
      return shown(params['allowedValue']);
    case 'enum': {
      const allowed = params['allowedValues'] as readonly unknown[];
      const more = allowed.length > MAX_CHOICES ? `, … (${allowed.length} in all)` : '';
      return `${allowed.length > 1 ? 'one of ' : ''}${allowed.slice(0, MAX_CHOICES).map(shown).join(', ')}${more}`;
    }
    case 'anyOf':
      return (params['expected'] as readonly string[] | undefined)?.filter(isFirst).join(' or ');
    default:
      return undefined;
  }
}

function isFirst(value: unknown, index: number, all: readonly unknown[]): boolean {
  return all.indexOf(value) === index;
}

async function describe(failure: Failure): Promise<Problem> {
  const { keyword, instancePath, params, data, message = 'is not accepted' } = failure;
  const path = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const expected = expectedBy(failure);
  if (expected !== undefined) {
    const strings = [params['allowedValues'] ?? params['allowedValue']].flat().filter((one) => typeof one === 'string');
    const near = typeof data === 'string' ? await didYouMean(data, strings) : '';
    return { path, text: `must be ${expected}, not ${shown(data)}${near === '' ? '' : `.${near}`}` };
  }
  switch (keyword) {
    case 'required':
      return { path: [...path, String(params['missingProperty'])], text: 'is missing' };
    case 'additionalProperties': {
      const name = String(params['additionalProperty']);
      const properties = failure.parentSchema?.['properties'];
      const near = await didYouMean(name, isObject(properties) ? Object.keys(properties) : []);
      return { path: [...path, name], text: `is not a known key${near === '' ? '' : `.${near}`}` };
    }
    case 'false schema':
      return { path, text: 'is not allowed' };
    default:
      return { path, text: `${message.replace('NOT', 'not')}; ${shown(data)} was given` };
  }
}

/** The value as JSON, shortened in the middle. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  const half = MAX_SHOWN_CHARS / 2;
  return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, half)}…${text.slice(-half)}`;
}
