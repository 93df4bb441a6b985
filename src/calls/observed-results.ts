/**
 * Remembers the shape of results of tools whose servers describe none, for documents and stubs. In memory, per
 * definition of a server, bounded in tools and in results looked at.
 */

import { isObject } from '../base/is-object.ts';
import { listOf, type Schema } from '../catalog/json-schema.ts';
import { ObservedShape } from '../catalog/observed-shape.ts';
import { makeVisible } from '../catalog/visible.ts';
import { isCarriedNumber } from '../protocol/exact-json.ts';

interface ObservedTool {
  readonly name: string;
  readonly outputSchema?: Schema;
}

export interface ObservedResults {
  /** Takes in a raw `CallToolResult` of a tool of the server with that definition. */
  note(definition: string, tool: ObservedTool, result: unknown): void;
  /** Undefined when no result was seen, or the server describes them itself. */
  schema(definition: string, tool: ObservedTool): Schema | undefined;
}

/** Tools whose shapes are kept; the ones used least recently are forgotten. Chosen. */
const MAX_TOOLS = 1_000;
/** Results of one tool that are looked at: later ones change little, and a loop makes thousands. Chosen. */
const MAX_RESULTS = 20;
/** Longer texts are not parsed: that would cost the call more than a millisecond. */
const MAX_TEXT_CHARS = 64 * 1024;

export function createObservedResults(): ObservedResults {
  const known = new Map<string, { readonly shape: ObservedShape; results: number }>();
  const keyOf = (definition: string, tool: ObservedTool): string => `${definition}\0${tool.name}`;

  return {
    note(definition, tool, result) {
      const key = keyOf(definition, tool);
      const entry = known.get(key) ?? { shape: new ObservedShape(isCarriedNumber), results: 0 };
      const isWanted = tool.outputSchema === undefined && entry.results < MAX_RESULTS;
      const value = isWanted ? valueOf(result) : undefined;
      if (value === undefined) {
        return;
      }
      entry.shape.add(value);
      entry.results += 1;
      // Put last, so that the first is the one used least recently.
      known.delete(key);
      known.set(key, entry);
      const [oldest] = known.keys();
      if (known.size > MAX_TOOLS && oldest !== undefined) {
        known.delete(oldest);
      }
    },
    schema: (definition, tool) => known.get(keyOf(definition, tool))?.shape.toSchema(),
  };
}

/**
 * The value that code gets for a result, as far as its shape can be told: a text, or the JSON that a text is (the rules
 * stand in decision 002). Undefined for failures, pictures, and results of several blocks.
 */
function valueOf(result: unknown): unknown {
  if (!isObject(result) || result['isError'] === true) {
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

/** As the kernel opens it; a rare object that means its only key `result` is told wrongly, as seen, not as promised. */
function withoutEnvelope(structured: Schema): unknown {
  const keys = Object.keys(structured);
  const isEnvelope = keys.length === 1 && (keys[0] === 'result' || typeof structured['content'] === 'string');
  return isEnvelope ? structured[keys[0] ?? ''] : structured;
}

/** Any text stands for all. Keys are shown to agents, so hidden characters in them are made visible. */
function parsed(text: string): unknown {
  if (!/^[ \t\r\n]*[[{]/.test(text)) {
    return '';
  }
  if (text.length > MAX_TEXT_CHARS) {
    return undefined;
  }
  try {
    return JSON.parse(makeVisible(text)) as unknown;
  } catch {
    return '';
  }
}
