/**
 * A compiled description as lines of JSON, as it is kept on disk and as a worker hands it over: first what is said about the
 * API, then its tools, then its operations. No line is long, so that reading one does not hold up other work.
 */
import { createPause } from '../../../core/base/slices.ts';
import { parseExact, stringifyExact } from '../../../core/protocol/exact-json.ts';
import type { ApiOperation, CompiledApi } from './compiled-api.ts';

/** Parsing a line of this size takes 6 ms. */
const LINE_CHARS = 256 * 1024;
/** Of one tool or operation. Whatever is longer, of a name for example, has no use. */
const MAX_LINE_CHARS = 1024 * 1024;
const OPEN_ARRAY = 0x5b;

/** Everything but the tools and operations. */
export interface AboutApi extends Omit<CompiledApi, 'tools' | 'operations'> {
  readonly toolCount: number;
  /** Of them, those that only read. */
  readonly readingCount: number;
}

export interface ReadApi {
  readonly about: AboutApi;
  /** Each a JSON array of tools, as `tools/list` shows them. */
  readonly toolLines: readonly Buffer[];
  readonly operations: ReadonlyMap<string, ApiOperation>;
}

/** Each line ends with a line feed. Throws an `Error` that says what is too long. */
export function linesOf({ tools, operations, ...rest }: CompiledApi): string[] {
  const reading = tools.filter(({ annotations }) => (annotations as { readOnlyHint?: unknown })?.readOnlyHint === true);
  const about: AboutApi = { ...rest, toolCount: tools.length, readingCount: reading.length };
  const toolTexts = tools.map((tool) => stringifyExact(tool));
  const operationTexts = Object.entries(operations).map(
    ([name, operation]) => `${JSON.stringify(name)}:${JSON.stringify(operation)}`,
  );
  const lines = [
    `${JSON.stringify(about)}\n`,
    ...inBatches(toolTexts).map((batch) => `[${batch}]\n`),
    ...inBatches(operationTexts).map((batch) => `{${batch}}\n`),
  ];
  if (lines.some(({ length }) => length > MAX_LINE_CHARS)) {
    throw new Error(`has a part of more than ${MAX_LINE_CHARS.toLocaleString('en-US')} characters`);
  }
  return lines;
}

/** Texts joined by commas, as many as a line may have. */
function inBatches(texts: readonly string[]): string[] {
  const batches: string[] = [];
  let batch: string[] = [];
  let chars = 0;
  for (const text of texts) {
    if (chars + text.length > LINE_CHARS && batch.length > 0) {
      batches.push(batch.join(','));
      [batch, chars] = [[], 0];
    }
    batch.push(text);
    chars += text.length;
  }
  return batch.length === 0 ? batches : [...batches, batch.join(',')];
}

/** Reads what `linesOf` wrote. The caller knows that it did: from a checksum, or from its own worker. */
export async function readLines(lines: readonly Buffer[]): Promise<ReadApi> {
  const pause = createPause();
  const [first, ...rest] = lines;
  const operations = new Map<string, ApiOperation>();
  for (const line of rest.filter((one) => one[0] !== OPEN_ARRAY)) {
    const read = parseExact(line.toString('utf8')) as Readonly<Record<string, ApiOperation>>;
    for (const [name, operation] of Object.entries(read)) {
      operations.set(name, operation);
    }
    await pause();
  }
  return {
    about: parseExact(first?.toString('utf8') ?? '') as AboutApi,
    toolLines: rest.filter((one) => one[0] === OPEN_ARRAY),
    operations,
  };
}
