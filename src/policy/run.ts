/** `policy`: shows what the policies say, of a tool or of the calls in a piece of code. Calls nothing. */

import { CancelSource } from '../base/cancel.ts';
import { BridgeError, ERROR_CODES } from '../base/errors.ts';
import { methodTool } from '../calls/surface-calls.ts';
import type { CatalogServer } from '../catalog/known.ts';
import { resolveName } from '../catalog/names.ts';
import type { ConfiguredServers } from '../directory/configured-servers.ts';
import { namedAtShell } from '../directory/directory-errors.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
import { readCode } from '../terminal/code-source.ts';
import type { CommandContext } from '../terminal/command.ts';
import { runWithServers } from '../terminal/lifecycle.ts';
import type { PolicyCommand } from './command-line.ts';
import { type CurrentPolicies, createCurrentPolicies } from './current-policies.ts';
import type { PolicyTool } from './rules/decision.ts';
import { hintsOf } from './rules/hints.ts';
import { explain } from './rules/trace.ts';
import { readCalls } from './static-calls.ts';
import { type CheckedCall, type ExplainedTool, renderCalls, renderExplained, renderPolicies } from './text.ts';

export interface PolicyOptions extends CommandContext {
  readonly input: NodeJS.ReadableStream;
  readonly writeOut: (text: string) => void;
}

/** Answers one question; resolves with the exit code once everything that was started is gone. */
export async function policy(command: PolicyCommand, options: PolicyOptions): Promise<number> {
  const { settings, logger } = options;
  const servers = await options.openServers();
  const policies = createCurrentPolicies({ stateDir: settings.stateDir, definitions: servers.definitions, logger });
  return runWithServers(servers, logger, () => answer(command, { ...servers, policies }, options));
}

interface ServersWithPolicies extends ConfiguredServers {
  readonly policies: CurrentPolicies;
}

async function answer(
  command: PolicyCommand,
  configured: ServersWithPolicies,
  options: PolicyOptions,
): Promise<number> {
  const print = (json: unknown, text: string): void => {
    options.writeOut(command.isJson ? `${JSON.stringify(json, undefined, 2)}\n` : text);
  };
  switch (command.action) {
    case 'show': {
      const shown = configured.policies()?.describe() ?? [];
      print(shown, renderPolicies(shown));
      return 0;
    }
    case 'explain': {
      const explained = await explainTool(command.tool, command.arguments, configured);
      print(explained, renderExplained(explained));
      return 0;
    }
    case 'check': {
      const code = await readCode(command.source, options.input);
      const { calls, unknown } = await readCalls(code, configured, options);
      const checked = await Promise.all(calls.map((call) => checkCall(call, configured)));
      print({ calls: checked, unknown }, renderCalls(checked, unknown));
      const isRefused = checked.some(({ effects }) => effects.length === 1 && effects[0] === 'deny');
      return isRefused ? ERROR_CODES.POLICY_DENIED.exitCode : 0;
    }
  }
}

async function explainTool(
  name: string,
  given: Readonly<Record<string, unknown>> | undefined,
  configured: ServersWithPolicies,
): Promise<ExplainedTool> {
  const [server, wanted] = splitName(name, configured.known);
  const tool = await findTool(server, wanted, configured);
  const explanation = explain(configured.policies(), server, tool, given);
  return { server: server.name, tool: tool.name, hints: hintsOf(tool.annotations), ...explanation };
}

/** Both names may hold dots, so the server is the longest that is configured. */
function splitName(name: string, known: ServerDirectory): [CatalogServer, string] {
  const servers = known.servers();
  let disabled: BridgeError | undefined;
  for (let at = name.lastIndexOf('.'); at > 0; at = name.lastIndexOf('.', at - 1)) {
    const server = resolveName(servers, name.slice(0, at));
    if (server !== undefined && at < name.length - 1) {
      return [server, name.slice(at + 1)];
    }
    disabled ??= known.whyDisabled(name.slice(0, at));
  }
  if (disabled !== undefined) {
    throw disabled;
  }
  const names = servers.map((server) => server.name).join(', ');
  throw new BridgeError('USAGE_INVALID', `'${name}' names no tool of a configured server.`, {
    hint: `Write it as SERVER.TOOL; the servers are ${names === '' ? 'none yet' : names}.`,
  });
}

async function findTool(server: CatalogServer, wanted: string, configured: ServersWithPolicies): Promise<PolicyTool> {
  const { signal } = new CancelSource();
  const method = methodTool(wanted);
  // A tool of that very name comes first, as it does for code.
  const isTool =
    method === undefined || resolveName(await configured.known.tools(server, signal), wanted) !== undefined;
  if (!isTool) {
    return method;
  }
  return namedAtShell(configured.known, server, wanted, configured.known.findTool(server, wanted, signal));
}

async function checkCall(
  call: Pick<CheckedCall, 'line' | 'server' | 'tool' | 'arguments'>,
  configured: ServersWithPolicies,
): Promise<CheckedCall> {
  try {
    const server = await configured.known.find(call.server);
    const tool = await findTool(server, call.tool, configured);
    const { effects, reason } = explain(configured.policies(), server, tool, call.arguments ?? undefined);
    return { ...call, server: server.name, tool: tool.name, effects, reason };
  } catch (error) {
    if (!(error instanceof BridgeError)) {
      throw error;
    }
    return { ...call, effects: [], reason: error.message };
  }
}
