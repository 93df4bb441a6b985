/** `policy`: shows the policies, and what they decide about a tool or about the calls in code. Makes no calls. */

import { CancelSource } from '../../core/base/cancel.ts';
import { BridgeError, ERROR_CODES } from '../../core/base/errors.ts';
import { renderJson, silentLogger } from '../../core/base/log.ts';
import { methodTool } from '../../core/calls/surface-calls.ts';
import type { CatalogServer } from '../../core/catalog/known.ts';
import { resolveName } from '../../core/catalog/names.ts';
import { namedAtShell } from '../../core/directory/directory-errors.ts';
import type { ServerDirectory } from '../../core/directory/server-directory.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import { readCode } from '../../edges/terminal/code-source.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import { runWithServers } from '../../edges/terminal/lifecycle.ts';
import type { PolicyCommand } from './command.ts';
import { type CurrentPolicies, createCurrentPolicies } from './current-policies.ts';
import { knownServers } from './known-servers.ts';
import { explain } from './rules/explain.ts';
import type { PolicyTool } from './rules/policy-call.ts';
import { hintsOf } from './rules/selectors.ts';
import { findCalls } from './static-calls.ts';
import {
  type CheckedCall,
  type ExplainedTool,
  renderCalls,
  renderExplained,
  renderPackages,
  renderPolicies,
} from './text.ts';

export interface PolicyOptions extends CommandContext {
  readonly input: NodeJS.ReadableStream;
  readonly writeOut: (text: string) => void;
}

/** Resolves with the exit code once everything that was started has ended. */
export async function policy(command: PolicyCommand, options: PolicyOptions): Promise<number> {
  const { settings, logger } = options;
  const servers = await options.openServers();
  const { stateDir } = settings;
  // `show` prints the faults of the files itself.
  const log = command.action === 'show' ? silentLogger : logger;
  const policies = createCurrentPolicies({ stateDir, definitions: servers.definitions, logger: log });
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
  const print: Print = (json, text) => {
    options.writeOut(command.isJson ? renderJson(json) : text);
  };
  switch (command.action) {
    case 'show': {
      const shown = configured.policies()?.describe(await knownServers(configured)) ?? [];
      print(shown, renderPolicies(shown));
      return shown.some(({ problem }) => problem !== null) ? ERROR_CODES.CONFIG_INVALID.exitCode : 0;
    }
    case 'explain': {
      const explained = await explainTool(command.tool, command.arguments, configured);
      print(explained, renderExplained(explained));
      return 0;
    }
    case 'check': {
      return command.packages.length > 0
        ? checkPackages(command.packages, configured, options, print)
        : checkCode(await readCode(command, options.input), configured, options, print);
    }
  }
}

type Print = (json: unknown, text: string) => void;

async function checkCode(
  code: string,
  configured: ServersWithPolicies,
  options: PolicyOptions,
  print: Print,
): Promise<number> {
  const { calls, unknown } = await findCalls(code, configured, options);
  const checked = await Promise.all(calls.map((call) => checkCall(call, configured)));
  print({ calls: checked, unknown }, renderCalls(checked, unknown));
  return exitCodeOf(checked);
}

async function checkPackages(
  packages: readonly string[],
  { policies }: ServersWithPolicies,
  { explainPackage }: PolicyOptions,
  print: Print,
): Promise<number> {
  const checked = await Promise.all(packages.map((one) => explainPackage(one, policies())));
  print({ packages: checked }, renderPackages(checked));
  return exitCodeOf(checked);
}

function exitCodeOf(checked: readonly { readonly effects: readonly string[] }[]): number {
  const isRefused = checked.some(({ effects }) => effects.length === 1 && effects[0] === 'deny');
  return isRefused ? ERROR_CODES.POLICY_DENIED.exitCode : 0;
}

async function explainTool(
  name: string,
  given: Readonly<Record<string, unknown>> | undefined,
  configured: ServersWithPolicies,
): Promise<ExplainedTool> {
  const [server, wanted] = splitName(name, configured.known);
  const tool = await findTool(server, wanted, configured);
  const policies = configured.policies();
  const explanation = explain(policies, server, tool, given);
  const shown = policies?.describe(await knownServers(configured)) ?? [];
  const unmatched = shown.flatMap(({ place, unmatched: of }) => {
    return of.map((pattern) => ({ ...pattern, place: `${pattern.place} of ${place}` }));
  });
  return { server: server.name, tool: tool.name, hints: hintsOf(tool.annotations), ...explanation, unmatched };
}

/** Both names may contain dots, so the longest configured server name wins. */
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
  throw new BridgeError('USAGE_INVALID', `'${name}' is not a tool of a configured server.`, {
    hint: `Write it as SERVER.TOOL. ${names === '' ? 'No server is configured yet.' : `The servers are ${names}.`}`,
  });
}

async function findTool(server: CatalogServer, wanted: string, configured: ServersWithPolicies): Promise<PolicyTool> {
  const { signal } = new CancelSource();
  const method = methodTool(wanted);
  // A tool with exactly that name takes precedence, as it does in code.
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
