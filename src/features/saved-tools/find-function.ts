/** Finds a saved function for a person who runs it from the shell. */
import { BridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { KeptFunction } from '../../edges/terminal/command.ts';
import { FunctionStore } from './function-store.ts';
import { readFunctionHead } from './python-signature.ts';
import { Toolbox } from './toolbox.ts';

/**
 * One's own function, or else a shared one, which is asked about when it is loaded. Rejects with `USAGE_INVALID` if there is none, and
 * with `CALL_REFUSED` for one that was changed by hand.
 */
export async function findFunction(
  name: string,
  { savedTools: mode, stateDir, toolbox: folders = [] }: Pick<Settings, 'savedTools' | 'stateDir' | 'toolbox'>,
): Promise<KeptFunction> {
  if (mode === 'off') {
    throw new BridgeError('CALL_REFUSED', 'saved functions are not loaded, because MCP_BRIDGE_SAVED_TOOLS is off', {
      hint: 'Set MCP_BRIDGE_SAVED_TOOLS=on.',
    });
  }
  const store = new FunctionStore(stateDir);
  const shared = await new Toolbox({ folders, stateDir, report: () => undefined }).list();
  const own = await store.read(name);
  if (own !== undefined && own.state !== 'approved') {
    throw new BridgeError('CALL_REFUSED', `the function '${name}' was changed by hand and is not loaded`, {
      hint: `To review and allow it, run: ${COMMAND} tools approve ${name}`,
    });
  }
  const found = own ?? shared.find((tool) => tool.name === name);
  if (found === undefined) {
    const names = [...(await store.names()), ...shared.map((tool) => tool.name)];
    throw new BridgeError('USAGE_INVALID', `no function '${name}' is kept.${await didYouMean(name, names)}`, {
      hint: `To list the functions, run: ${COMMAND} tools list`,
    });
  }
  const head = readFunctionHead(name, found.source);
  if (head === undefined) {
    throw new BridgeError('CALL_REFUSED', `the source of '${name}' does not begin as a function`, {
      hint: `To see it, run: ${COMMAND} tools show ${name}`,
    });
  }
  return { name, ...head, source: found.source };
}

/** For the completion of names. Reports nothing. */
export async function listFunctionNames({
  stateDir,
  toolbox: folders = [],
}: Pick<Settings, 'stateDir' | 'toolbox'>): Promise<string[]> {
  const shared = await new Toolbox({ folders, stateDir, report: () => undefined }).list();
  const own = await new FunctionStore(stateDir).names().catch((): string[] => []);
  return [...new Set([...own, ...shared.map(({ name }) => name)])].toSorted();
}
