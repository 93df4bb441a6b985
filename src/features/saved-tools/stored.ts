/** Saved functions as things that are listed and removed, and functions in the code of cells, which a person can keep. */
import { BridgeError } from '../../core/base/errors.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { StoredThings } from '../../edges/terminal/stored-things.ts';
import { checkName, checkSource, isFileName } from './function-source.ts';
import { FunctionStore } from './function-store.ts';
import { functionsIn } from './functions-in-code.ts';
import { readFunctionHead } from './python-signature.ts';

/** Their ids are their names. */
export function storedFunctions(folder: string): StoredThings {
  const store = new FunctionStore(folder);
  return {
    async list() {
      const found = await Promise.all(
        (await store.names()).map(async (name) => store.read(name).catch(() => undefined)),
      );
      return found
        .filter((one) => one !== undefined)
        .map(({ name, record, source, state }) => {
          const { signature = name, summary = '' } = readFunctionHead(name, source) ?? {};
          const parts = [signature, summary, state === 'approved' ? '' : `${state}, so sessions do not load it`];
          return {
            id: name,
            name,
            bytes: Buffer.byteLength(source),
            ...(record !== undefined && { at: new Date(record.at) }),
            detail: parts.filter((part) => part !== '').join(', '),
          };
        });
    },
    remove: async (name) => (isFileName(name) ? store.remove(name) : false),
  };
}

/** The source of a function, as a file that is sent. Undefined if there is none. */
export async function readStoredFunction(folder: string, name: string) {
  const found = isFileName(name) ? await new FunctionStore(folder).read(name).catch(() => undefined) : undefined;
  if (found === undefined) {
    return undefined;
  }
  const bytes = Buffer.from(found.source);
  return {
    name: `${name}.py`,
    mimeType: 'text/x-python',
    sizeBytes: bytes.length,
    async *pieces() {
      yield bytes;
    },
    close: async () => undefined,
  };
}

/** Names of the functions in the code of a cell that can be kept. */
export function functionNamesIn(code: string): string[] {
  return functionsIn(code)
    .map(({ name }) => name)
    .filter((name) => {
      try {
        checkName(name);
        return true;
      } catch {
        return false;
      }
    });
}

/**
 * Keeps a function of the code of a cell, for a person who has seen it. Another one of that name becomes an earlier version. Rejects
 * with `CALL_REFUSED` or `STATE_WRITE_FAILED`.
 */
export async function keepFunction(
  code: string,
  name: string,
  { savedTools: mode, stateDir }: Pick<Settings, 'savedTools' | 'stateDir'>,
): Promise<void> {
  if (mode === 'off') {
    throw new BridgeError('CALL_REFUSED', 'functions are not kept, because MCP_BRIDGE_SAVED_TOOLS is off', {
      hint: 'Set MCP_BRIDGE_SAVED_TOOLS=on.',
    });
  }
  checkName(name);
  const found = functionsIn(code).find((each) => each.name === name);
  if (found === undefined) {
    throw new BridgeError('CALL_REFUSED', `the code defines no function '${name}' that could be kept`, {
      hint: 'It must be at top level, without decorators.',
    });
  }
  checkSource(found);
  const { signature = '', summary = '' } = readFunctionHead(name, found.source) ?? {};
  await new FunctionStore(stateDir).write(found, { signature, summary, packages: [] });
}
