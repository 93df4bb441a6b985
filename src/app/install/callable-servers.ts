/** The last lines of `install`: which servers code can call now, and how to add more. */

import { escapeControls } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import type { ClientId } from '../../edges/clients/client-ids.ts';
import { listServers } from '../../edges/clients/server-lists.ts';
import type { ClientSystem } from '../../edges/clients/table.ts';
import { discoverServers } from '../../edges/servers/discover.ts';
import { loadSources } from '../../edges/servers/sources.ts';
import { type Settings, usualStateDir } from '../../edges/settings/settings.ts';
import type { InstallLine } from './command.ts';
import type { Plan } from './plan.ts';

/** Names listed on one line; the rest are counted. Chosen. */
const MAX_NAMES = 12;

interface CallableOptions {
  readonly system: ClientSystem;
  readonly settings: Pick<Settings, 'stateDir'> &
    Partial<Pick<Settings, 'serversConfig' | 'configSources' | 'allowSelfServer'>>;
}

/** The summary. Call it after the files are written: it reads the configured servers again. */
export async function describeCallable(
  plans: readonly (readonly [ClientId, Plan])[],
  { isDryRun, isImport }: InstallLine,
  { settings, system }: CallableOptions,
): Promise<string> {
  const { configSources, serversConfig, stateDir, allowSelfServer } = settings;
  const sources = configSources === undefined ? undefined : await loadSources(configSources, system);
  const found = discoverServers({
    stateDir,
    usualDir: usualStateDir(system.env),
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
  const offer = isOffered && hidden.length > 0 ? ` ${describeImport(hidden)}` : '';
  // The other change is that of the file that they move to.
  const isMoved = !isDryRun && plans.some(([, { changes }]) => changes.length > 1);
  const next = isMoved
    ? `Next: ${COMMAND} servers test (it starts each server once; a first start may download it)\n`
    : '';
  return `${now}${offer} To add one: ${COMMAND} servers add NAME -- COMMAND ARG…\n${describeFolderServers(plans)}${next}`;

  function isHidden(name: string): boolean {
    return !callable.includes(name);
  }
}

interface Hidden {
  readonly id: ClientId;
  readonly client: Plan['client'];
  readonly names: readonly string[];
}

function describeImport(hidden: readonly Hidden[]): string {
  const whose = hidden.map(({ client, names }) => `those of ${client.title} (${list(names)})`).join(' and ');
  return `To move ${whose} to the bridge: ${COMMAND} install ${hidden.map(({ id }) => id).join(' ')} --import.`;
}

/** Names without duplicates: servers of several folders may share one. */
function namesOf(servers: Plan['others']['moved']): string[] {
  return [...new Set(servers.map(({ name }) => name))];
}

/** One line for each client whose folder servers stay there; usually empty. */
function describeFolderServers(plans: readonly (readonly [ClientId, Plan])[]): string {
  return plans
    .map(([, { client, others }]) => ({ client, staying: others.staying.filter(({ folder }) => folder !== undefined) }))
    .filter(({ staying }) => staying.length > 0)
    .map(
      ({ client, staying }) =>
        `${client.title} defines these servers for one folder each, and they cannot be moved: ${list(listServers(staying))}. To let code call one, add it as above, then run in its folder: claude mcp remove NAME --scope local\n`,
    )
    .join('');
}

function list(all: readonly string[]): string {
  const names = all.map(escapeControls);
  const rest = names.length - MAX_NAMES;
  return rest > 0 ? `${names.slice(0, MAX_NAMES).join(', ')} and ${rest} more` : names.join(', ');
}
