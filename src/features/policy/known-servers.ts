/** The configured servers with the tools that are known, as policies see them. Starts nothing. */
import { methodTools } from '../../core/calls/surface-calls.ts';
import { assignAliases, assignServerAliases } from '../../core/catalog/names.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import type { PolicyTool } from './rules/policy-call.ts';
import type { KnownServer } from './rules/unmatched.ts';

/** Every configured server; a disabled one is known only by name. */
export async function knownServers({
  known,
  definitions,
}: Pick<ConfiguredServers, 'known' | 'definitions'>): Promise<KnownServer[]> {
  await known.ready();
  const enabled = known.servers().map((server) => ({ server, tools: toolsOf(known.metadata(server)?.tools) }));
  const disabled = [...definitions().values()].filter(({ disabled: isOff }) => isOff);
  const aliases = assignServerAliases(disabled.map(({ name }) => name));
  const others = disabled.map(({ name }, index) => ({
    server: { name, alias: aliases[index] ?? name },
    tools: undefined,
  }));
  return [...enabled, ...others];
}

function toolsOf(tools: readonly Omit<PolicyTool, 'alias'>[] | undefined): PolicyTool[] | undefined {
  const aliases = assignAliases((tools ?? []).map(({ name }) => name));
  const named = tools?.map((tool, index) => ({ ...tool, alias: aliases[index] ?? tool.name }));
  return named && [...named, ...methodTools()];
}
