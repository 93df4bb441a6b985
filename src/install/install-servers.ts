/** What `install` says at its end: which servers code can call now, and how to get more. */

import { COMMAND } from '../base/package.ts';
import { listServers } from '../clients/server-lists.ts';
import type { ClientId, ClientSystem } from '../clients/table.ts';
import { discoverServers } from '../servers/discover.ts';
import { loadSources } from '../servers/sources.ts';
import type { Settings } from '../settings/settings.ts';
import type { InstallCommand } from './command-line.ts';
import type { Plan } from './plan.ts';

/** Names in one line; more are counted. Chosen. */
const MAX_NAMES = 12;

interface CallableOptions {
  readonly system: ClientSystem;
  readonly settings: Pick<Settings, 'stateDir'> &
    Partial<Pick<Settings, 'serversConfig' | 'configSources' | 'allowSelfServer'>>;
}

/** One line. The servers are those of now: it is made after the files were written. */
export async function describeCallable(
  plans: readonly (readonly [ClientId, Plan])[],
  { isDryRun, isImport }: InstallCommand,
  { settings, system }: CallableOptions,
): Promise<string> {
  const { configSources, serversConfig, stateDir, allowSelfServer } = settings;
  const sources = configSources === undefined ? undefined : await loadSources(configSources, system);
  const found = discoverServers({
    stateDir,
    extraFile: serversConfig,
    sources,
    env: system.env,
    allowsSelf: allowSelfServer,
  });
  const callable = [...found.servers.values()].filter(({ disabled }) => !disabled).map(({ name }) => name);
  const now = callable.length === 0 ? 'Code cannot call any server yet.' : `Code can call: ${list(callable)}.`;
  const isOffered = isImport !== false && (isImport === undefined || isDryRun);
  const hidden = plans
    .map(([id, { client, others }]) => ({ id, client, names: namesOf(others.moved).filter(isHidden) }))
    .filter(({ names }) => names.length > 0);
  const taking = isOffered && hidden.length > 0 ? ` ${describeTaking(hidden)}` : '';
  return `${now}${taking} To add one: ${COMMAND} servers add NAME -- COMMAND ARG…\n${describeFolderServers(plans)}`;

  function isHidden(name: string): boolean {
    return !callable.includes(name);
  }
}

interface Hidden {
  readonly id: ClientId;
  readonly client: Plan['client'];
  readonly names: readonly string[];
}

function describeTaking(hidden: readonly Hidden[]): string {
  const whose = hidden.map(({ client, names }) => `those of ${client.title} (${list(names)})`).join(' and ');
  return `To move ${whose} here: ${COMMAND} install ${hidden.map(({ id }) => id).join(' ')} --import.`;
}

/** Each once: servers of several folders may have the same name. */
function namesOf(servers: Plan['others']['moved']): string[] {
  return [...new Set(servers.map(({ name }) => name))];
}

/** Empty when there are none that stay. */
function describeFolderServers(plans: readonly (readonly [ClientId, Plan])[]): string {
  return plans
    .map(([, { client, others }]) => ({ client, staying: others.staying.filter(({ folder }) => folder !== undefined) }))
    .filter(({ staying }) => staying.length > 0)
    .map(
      ({ client, staying }) =>
        `${client.title} keeps these servers for one folder each, and they cannot be moved: ${list(listServers(staying))}. To let code call one, add it as above, and in its folder run: claude mcp remove NAME --scope local\n`,
    )
    .join('');
}

function list(names: readonly string[]): string {
  const rest = names.length - MAX_NAMES;
  return rest > 0 ? `${names.slice(0, MAX_NAMES).join(', ')} and ${rest} more` : names.join(', ');
}
