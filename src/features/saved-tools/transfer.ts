/** Functions outside the store: as files `NAME.py` of a folder, which is also a toolbox, or as one JSON text. */
import { lstat, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { z } from 'zod';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { MAX_SAVED_TOOL_BYTES, MAX_SAVED_TOOLS } from '../../core/base/limits.ts';
import { renderJson } from '../../core/base/log.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { makeFolders } from '../../core/state/file-system.ts';
import { readBounded } from '../../core/state/state-files.ts';
import { checkName, checkSource, type SavedTool } from './function-source.ts';

const EXTENSION = '.py';
/** Each byte of a source may become `\u0000`. */
const MAX_TEXT_BYTES = MAX_SAVED_TOOLS * MAX_SAVED_TOOL_BYTES * 6;

const BundleSchema = z.object({
  version: z.literal(1),
  functions: z.array(z.object({ name: z.string(), source: z.string() })).max(MAX_SAVED_TOOLS),
});

interface Target {
  /** A folder; - is `writeOut`. */
  readonly path: string;
  /** Whether to overwrite files. */
  readonly isForced: boolean;
  readonly writeOut: (text: string) => void;
}

/** Rejects with `STATE_WRITE_FAILED`. */
export async function writeFunctions(tools: readonly SavedTool[], { isForced, path, writeOut }: Target): Promise<void> {
  if (path === '-') {
    writeOut(renderJson({ version: 1, functions: tools }));
    return;
  }
  try {
    await makeFolders(path);
    for (const { name, source } of tools) {
      // biome-ignore lint/performance/noAwaitInLoops: the first failure ends it.
      await writeFile(join(path, name + EXTENSION), source, { flag: isForced ? 'w' : 'wx' });
    }
  } catch (cause) {
    const isThere = (cause as NodeJS.ErrnoException).code === 'EEXIST';
    throw new BridgeError('STATE_WRITE_FAILED', `cannot write to ${path}: ${messageOf(cause)}`, {
      hint: isThere ? 'To overwrite files, add --force.' : 'Name a folder that you can write to.',
      cause,
    });
  }
}

/** Rejects with `USAGE_INVALID` for what cannot be read, and with `CALL_REFUSED` for what cannot be kept. */
export async function readFunctions(path: string, input: NodeJS.ReadableStream): Promise<SavedTool[]> {
  const tools = await readAny(path, input).catch((cause: unknown) => {
    throw new BridgeError('USAGE_INVALID', `cannot import ${path}: ${messageOf(cause)}`, {
      hint: 'Name a folder with files NAME.py, one such file, or a JSON text from `tools export`.',
      cause,
    });
  });
  for (const tool of tools) {
    checkName(tool.name);
    checkSource(tool);
  }
  return tools;
}

async function readAny(path: string, input: NodeJS.ReadableStream): Promise<SavedTool[]> {
  if (path === '-') {
    return parseBundle(await readAll(input));
  }
  if ((await lstat(path)).isDirectory()) {
    const files = (await readdir(path)).filter((name) => name.endsWith(EXTENSION)).toSorted();
    if (files.length === 0) {
      throw new Error('the folder has no file NAME.py');
    }
    return Promise.all(files.map((name) => readOne(join(path, name))));
  }
  return path.endsWith(EXTENSION)
    ? [await readOne(path)]
    : parseBundle((await readBounded(path, MAX_TEXT_BYTES)).toString('utf8'));
}

async function readOne(path: string): Promise<SavedTool> {
  const source = (await readBounded(path, MAX_SAVED_TOOL_BYTES)).toString('utf8');
  return { name: basename(path, EXTENSION), source };
}

function parseBundle(text: string): SavedTool[] {
  const read = readUntrusted(text, JSON_BOUNDS.request);
  const parsed = BundleSchema.safeParse(read.ok ? read.value : undefined);
  if (!parsed.success) {
    throw new Error('it is not a text from `tools export`');
  }
  return parsed.data.functions;
}
