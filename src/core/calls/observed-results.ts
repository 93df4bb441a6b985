/**
 * Remembers the shape of results for documents and stubs, if the server does not describe it. Kept in memory for each
 * definition of a server, with limits on tools and on results read. A feature may keep shapes for later runs: types and keys of
 * objects, and nothing else of what a result holds.
 */
import { CappedMap } from '../base/capped-map.ts';
import { isObject } from '../base/is-object.ts';
import { listOf, type Schema } from '../catalog/json-schema.ts';
import { ObservedShape } from '../catalog/observed-shape.ts';
import { textFormat } from '../catalog/text-format.ts';
import { makeVisible } from '../catalog/visible.ts';
import { isCarriedNumber } from '../protocol/exact-json.ts';
import { isFailure, ResultBytes } from '../protocol/result-bytes.ts';
import { JSON_BOUNDS, readUntrusted } from '../protocol/untrusted-json.ts';

interface Observed {
  readonly definition: string;
  readonly tool: string;
  readonly shape: ObservedShape;
  /** What texts look like; undefined for a text of unknown format. */
  readonly formats: Set<string | undefined>;
  results: number;
  /** All successful calls. */
  uses: number;
  /** The columns of the rows depend on the arguments. */
  isQuery: boolean;
}

interface ObservedTool {
  readonly name: string;
  readonly outputSchema?: Schema;
}

/** What is kept of the results of one tool. */
export interface KeptShape {
  readonly definition: string;
  readonly tool: string;
  /** How many calls have succeeded. */
  readonly uses: number;
  /** Left out if the server describes its results. */
  readonly schema?: Schema | undefined;
}

/** Keeps shapes between runs. */
export interface ShapeMemory {
  /** Those of earlier runs. Never rejects. */
  load(): Promise<readonly KeptShape[]>;
  /** Says that `shapes` has something new. Called for calls, so it must be cheap. */
  changed(shapes: () => readonly KeptShape[]): void;
}

export interface ObservedResults {
  /** Resolves when it knows what earlier runs have seen. */
  readonly ready: Promise<void>;
  /** Learns from a raw `CallToolResult`, or its bytes, of a tool of the server with this definition, called with these arguments. */
  note(definition: string, tool: ObservedTool, given: Readonly<Record<string, unknown>>, result: unknown): void;
  /** For text, its `description` says what it looks like. Undefined if no result was seen, or the server describes its results. */
  schema(definition: string, tool: ObservedTool): Schema | undefined;
  /** How many calls of the tool have succeeded. */
  uses(definition: string, tool: ObservedTool): number;
}

/** Tools whose shapes are kept; the least recently used are forgotten. Chosen. */
const MAX_TOOLS = 1_000;
/** Results of one tool that are read: later ones change little, and a loop makes thousands. Chosen. */
const MAX_RESULTS = 20;
/** Longer texts are not parsed, because that would add more than a millisecond to the call. */
const MAX_TEXT_CHARS = 64 * 1024;

/** Formats of the texts of one tool that are named. Chosen. */
const MAX_FORMATS = 3;
/** An argument in SQL. */
const QUERY = /^\s*(?:select|with|show|describe|explain|pragma|values)\s/i;

export function createObservedResults(memory?: ShapeMemory): ObservedResults {
  const known = new CappedMap<string, Observed>(MAX_TOOLS);
  const earlier = new CappedMap<string, KeptShape>(MAX_TOOLS);
  const keyOf = (definition: string, tool: ObservedTool): string => `${definition}\0${tool.name}`;
  const usesOf = (key: string): number => (known.get(key)?.uses ?? 0) + (earlier.get(key)?.uses ?? 0);
  const shapes = (): KeptShape[] =>
    [...known].map(([key, entry]) => {
      const schema = entry.results === 0 ? earlier.get(key)?.schema : schemaOf(entry);
      return { definition: entry.definition, tool: entry.tool, uses: usesOf(key), schema };
    });
  const load = async (): Promise<void> => {
    for (const shape of (await memory?.load()) ?? []) {
      earlier.set(keyOf(shape.definition, { name: shape.tool }), shape);
    }
  };

  return {
    ready: load(),
    note(definition, tool, given, result) {
      const key = keyOf(definition, tool);
      const entry = known.get(key) ?? nothingOf(definition, tool);
      const isWanted = tool.outputSchema === undefined && entry.results < MAX_RESULTS;
      if (isWanted || entry.uses === 0) {
        memory?.changed(shapes);
      }
      entry.uses += isFailure(result) ? 0 : 1;
      known.set(key, entry);
      const value = isWanted ? valueOf(outlineOf(result)) : undefined;
      if (value !== undefined) {
        addTo(entry, given, value);
      }
    },
    uses: (definition, tool) => usesOf(keyOf(definition, tool)),
    schema(definition, tool) {
      const key = keyOf(definition, tool);
      const entry = known.get(key);
      if (entry === undefined || entry.results === 0) {
        return tool.outputSchema === undefined ? earlier.get(key)?.schema : undefined;
      }
      return schemaOf(entry);
    },
  };
}

function nothingOf(definition: string, { name: tool }: ObservedTool): Observed {
  const shape = new ObservedShape(isCarriedNumber);
  return { definition, tool, shape, formats: new Set(), results: 0, uses: 0, isQuery: false };
}

function addTo(entry: Observed, given: Readonly<Record<string, unknown>>, value: unknown): void {
  entry.shape.add(value);
  entry.isQuery ||= Object.values(given).some((one) => typeof one === 'string' && QUERY.test(one));
  if (typeof value === 'string' && value.length <= MAX_TEXT_CHARS) {
    entry.formats.add(textFormat(value));
  }
  entry.results += 1;
}

function schemaOf(entry: Observed): Schema {
  const schema = entry.shape.toSchema();
  const formats = entry.formats.has(undefined) || entry.formats.size > MAX_FORMATS ? [] : [...entry.formats];
  if (schema['type'] === 'string' && formats.length > 0) {
    return { ...schema, description: formats.join('; or ') };
  }
  return entry.isQuery ? withoutRows(schema) : schema;
}

/** The schema without the keys of objects in arrays: rows of a query, whose columns differ from query to query. */
function withoutRows(schema: Schema): Schema {
  const { items, properties } = schema;
  if (isObject(items)) {
    return { ...schema, items: isObject(items['properties']) ? { type: 'object' } : withoutRows(items) };
  }
  if (!isObject(properties)) {
    return schema;
  }
  const members = Object.entries(properties).map(([key, member]) => [
    key,
    isObject(member) ? withoutRows(member) : member,
  ]);
  return { ...schema, properties: Object.fromEntries(members) };
}

/** A large result with its long text cut, if nothing else is of interest. */
function outlineOf(result: unknown): unknown {
  return result instanceof ResultBytes ? result.toOutline(MAX_TEXT_CHARS + 1) : result;
}

/**
 * The value that code gets for a result, if its shape can be known: a text, or the JSON in a text (decision 002 has the
 * rules). Undefined for failures, images, and results of several blocks.
 */
function valueOf(result: unknown): unknown {
  if (!isObject(result) || isFailure(result)) {
    return undefined;
  }
  const structured = result['structuredContent'];
  const blocks = listOf(result['content']);
  const [block] = blocks;
  if (isObject(structured)) {
    return blocks.every((one) => isObject(one) && one['type'] === 'text') ? withoutEnvelope(structured) : undefined;
  }
  if (blocks.length !== 1 || !isObject(block) || block['type'] !== 'text' || typeof block['text'] !== 'string') {
    return undefined;
  }
  return parsed(block['text']);
}

/** Opens the envelope as the kernel does. A rare object whose only key is really `result` is therefore described wrongly. */
function withoutEnvelope(structured: Schema): unknown {
  const keys = Object.keys(structured);
  const isEnvelope = keys.length === 1 && (keys[0] === 'result' || typeof structured['content'] === 'string');
  return isEnvelope ? structured[keys[0] ?? ''] : structured;
}

/** Plain text stays text. Agents read the keys, so hidden characters in them are made visible. */
function parsed(text: string): unknown {
  if (!/^[ \t\r\n]*[[{]/.test(text)) {
    return text;
  }
  if (text.length > MAX_TEXT_CHARS) {
    return undefined;
  }
  const read = readUntrusted(makeVisible(text), JSON_BOUNDS.serverPart);
  return read.ok ? read.value : text;
}
