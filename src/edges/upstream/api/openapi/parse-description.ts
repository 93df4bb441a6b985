/**
 * The text of a description as a value: JSON, or YAML 1.2, in which dates and `yes` are texts. Pure; meant for a thread with bounded
 * memory and time, because YAML has no bounds that can be measured beforehand.
 */
import { LineCounter, parseDocument } from 'yaml';
import { parseJson } from '../../../../core/base/json-text.ts';
import { JSON_BOUNDS, readUntrusted } from '../../../../core/protocol/untrusted-json.ts';

/** Uses of anchors. They share one value, so many cost little here, and what walks through the value has a budget. Chosen. */
const MAX_ALIASES = 10_000;

/** Throws an error that says what is wrong with the text, and where. */
export function parseDescription(marked: string): unknown {
  const text = marked.replace(/^\uFEFF/, '');
  if (/^\s*</.test(text)) {
    throw new Error('is a web page or XML; the description of an API is often beside it, at /openapi.json');
  }
  return /^\s*[{[]/.test(text) ? fromJson(text) : fromYaml(text);
}

function fromJson(text: string): unknown {
  const read = readUntrusted(text, JSON_BOUNDS.apiDescription);
  if (read.ok) {
    return read.value;
  }
  const parsed = read.isTooMuch ? undefined : parseJson(text);
  throw new Error(parsed !== undefined && 'fault' in parsed ? parsed.fault : `is ${read.reason}`);
}

function fromYaml(text: string): unknown {
  const lineCounter = new LineCounter();
  try {
    const document = parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      logLevel: 'error',
      version: '1.2',
      // Real descriptions have both; of equal keys, the last one counts, as in JSON.
      uniqueKeys: false,
      merge: true,
    });
    const [error] = document.errors;
    if (error !== undefined) {
      if (error.message.startsWith('Maximum call stack')) {
        throw new RangeError(error.message);
      }
      const { line, col } = lineCounter.linePos(error.pos[0]);
      throw new Error(`is not YAML (line ${line}, column ${col}): ${error.message}`);
    }
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    // The library is recursive, and refuses anchors by how much they stand for together.
    if (error instanceof RangeError || error instanceof ReferenceError) {
      const what = error instanceof RangeError ? 'is nested too deeply' : 'has anchors that stand for too much';
      throw new Error(what, { cause: error });
    }
    throw error;
  }
}
