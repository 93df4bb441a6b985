/** What a function that is kept may be called and may contain, as far as text shows it. */
import { BridgeError } from '../../core/base/errors.ts';
import { MAX_SAVED_TOOL_BYTES } from '../../core/base/limits.ts';
import { isPythonKeyword } from '../../core/catalog/names.ts';

/** A function by name, with its source. */
export interface SavedTool {
  readonly name: string;
  readonly source: string;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
/** Names with a meaning in every session, which a function must not replace there. The kernel knows the others. */
const TAKEN_NAME =
  /^_|^mcp(_|$)|^(runtime|save_tool|user_tools|display|print|LOADED_MCP_SERVERS|MCPError|ToolError|PolicyError)$/;
/** Names of devices on Windows, with any extension. */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)$/i;

/** Whether a file of the store may have this name. */
export function isFileName(name: string): boolean {
  return NAME.test(name);
}

/** Throws `CALL_REFUSED`. */
export function checkName(name: string): void {
  if (TAKEN_NAME.test(name)) {
    throw new BridgeError(
      'CALL_REFUSED',
      `a tool cannot be saved under the name '${name.slice(0, 80)}', which is taken`,
      {
        hint: 'Give the function another name.',
      },
    );
  }
  if (!NAME.test(name) || DEVICE_NAME.test(name) || isPythonKeyword(name)) {
    throw new BridgeError(
      'CALL_REFUSED',
      `a tool cannot be saved under the name ${JSON.stringify(name.slice(0, 80))}`,
      {
        hint: 'Use at most 64 ASCII letters, digits and underscores, and do not start with a digit.',
      },
    );
  }
}

/** Throws `CALL_REFUSED`. */
export function checkSource({ name, source }: SavedTool): void {
  const bytes = Buffer.byteLength(source);
  if (bytes > MAX_SAVED_TOOL_BYTES) {
    const limit = MAX_SAVED_TOOL_BYTES.toLocaleString('en-US');
    throw new BridgeError(
      'CALL_REFUSED',
      `the source of '${name}' has ${bytes.toLocaleString('en-US')} bytes; the limit is ${limit} bytes`,
      {
        hint: 'Save a smaller function, and keep its data in an artifact or on a server.',
      },
    );
  }
  if (!isFunction(name, source)) {
    throw new BridgeError('CALL_REFUSED', `the source of '${name}' is not one function with its imports`, {
      hint: `Begin with imports, if any, followed by 'def ${name}(...):', without decorators.`,
    });
  }
}

/** Whether the text begins as one function, with only imports before it. What follows, only a parser can judge. */
function isFunction(name: string, source: string): boolean {
  const start = new RegExp(`^(?:async[ \\t]+)?def[ \\t]+${name}\\b`);
  const lines = source.split(/\r\n?|\n/);
  const first = lines.findIndex((line) => start.test(line));
  return (
    first >= 0 && lines.slice(0, first).every((line) => /^(?:(?:import|from)[ \t][^;]*|[ \t]*(?:#.*)?)$/.test(line))
  );
}
