/** Errors for servers and tools that do not exist or may not be used, with the next step for code or for a person at a shell. */
import { BridgeError } from '../base/errors.ts';
import { escapeControls } from '../base/log.ts';
import { noServerConfigured } from '../base/no-server.ts';
import { COMMAND } from '../base/package.ts';
import { quoteShellWord } from '../base/shell-words.ts';
import { didYouMean } from '../base/suggest.ts';
import { WorkBudget } from '../base/work-budget.ts';
import { howToLoad } from '../catalog/describe.ts';
import type { CatalogServer, CatalogTool, ServerMetadata } from '../catalog/known.ts';

const MAX_SHOWN_NAME_CHARS = 80;

/**
 * For the names that code uses. Comparing one with those of 1,000 tools takes 10 ms, and code can make 1,000 wrong calls at once.
 */
const suggestions = new WorkBudget(100, 0.1);

/** How a person enables a disabled server. */
export function howToEnable(name: string): string {
  return `To enable it: ${COMMAND} servers enable ${quoteShellWord(shownName(name))}. No restart is needed.`;
}

/** `SERVER_NOT_AVAILABLE` for a configured server that is not loaded. Other bridges begin with the same words, which programs look for. */
export function serverNotLoaded({ name }: CatalogServer): BridgeError {
  return new BridgeError(
    'SERVER_NOT_AVAILABLE',
    `Server '${shownName(name)}' is not available: it is not loaded in this session`,
    {
      hint: `${capitalized(howToLoad(name))}.`,
    },
  );
}

/** `SERVER_NOT_AVAILABLE` for a server that is disabled in `file`. */
export function serverDisabled(name: string, file = 'the configuration'): BridgeError {
  return new BridgeError(
    'SERVER_NOT_AVAILABLE',
    `Server '${shownName(name)}' is not available: it is disabled in ${escapeControls(file)}`,
    {
      hint: howToEnable(name),
    },
  );
}

/** `SERVER_UNKNOWN`, with the most similar names. */
export async function serverNotFound(wanted: string, known: readonly CatalogServer[]): Promise<BridgeError> {
  return new BridgeError('SERVER_UNKNOWN', `no server '${shownName(wanted)}' is configured`, {
    hint: await whatThereIs(wanted, known),
  });
}

async function whatThereIs(wanted: string, known: readonly CatalogServer[]): Promise<string> {
  if (known.length === 0) {
    return noServerConfigured();
  }
  const names = known.map((server) => server.name);
  return `${await suggest(wanted, names)} Configured: ${names.join(', ')}.`.trim();
}

/** `TOOL_UNKNOWN`, with the most similar names. */
export async function toolNotFound(
  server: CatalogServer,
  listed: readonly CatalogTool[],
  wanted: string,
): Promise<BridgeError> {
  const near = await suggest(
    wanted,
    listed.map((tool) => tool.alias),
  );
  const list = `await runtime.query_tool_docs('${server.name}') lists its tools.`;
  return new BridgeError('TOOL_UNKNOWN', `server '${server.name}' has no tool '${shownName(wanted)}'`, {
    hint: `${near} ${list}`.trim(),
  });
}

function suggest(wanted: string, names: readonly string[]): Promise<string> {
  return didYouMean(shownName(wanted), names, undefined, suggestions);
}

/** Replaces the hint of a `TOOL_UNKNOWN`, with which `found` may reject, by one for a person at a shell. */
export async function namedAtShell<Tool>(
  known: { metadata(server: CatalogServer): ServerMetadata | undefined },
  server: CatalogServer,
  wanted: string,
  found: Promise<Tool>,
): Promise<Tool> {
  try {
    return await found;
  } catch (error) {
    if (!(error instanceof BridgeError) || error.code !== 'TOOL_UNKNOWN') {
      throw error;
    }
    const names = known.metadata(server)?.tools.map(({ name }) => name) ?? [];
    const near = await didYouMean(wanted, names);
    throw new BridgeError(error.code, error.message, {
      hint: `${near} \`${COMMAND} servers tools ${quoteShellWord(server.name)}\` lists its tools.`.trim(),
      data: error.data,
      cause: error,
    });
  }
}

/** A name from a sandbox, shortened and escaped for a message. */
export function shownName(text: string): string {
  const short = text.length > MAX_SHOWN_NAME_CHARS ? `${text.slice(0, MAX_SHOWN_NAME_CHARS)}…` : text;
  return escapeControls(short);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
