/** What `doctor` looks at of MCP clients: in which of those that are here the bridge is registered. */
import { access } from 'node:fs/promises';
import { CLIENT_IDS, type ClientId, type ClientSystem, clientOf } from '../../clients/table.ts';
import { messageOf } from '../../errors.ts';
import { COMMAND } from '../../package.ts';
import { planInstall } from '../install-plan.ts';
import type { Finding } from './finding.ts';

export interface ClientOptions {
  readonly system: ClientSystem;
  readonly stateDir: string;
}

/** Clients of which there is a file; a warning when none of them has the bridge. Writes nothing. */
export async function examineClients(options: ClientOptions): Promise<Finding[]> {
  const findings = (await Promise.all(CLIENT_IDS.map((id) => examine(id, options)))).flat();
  const isRegistered = findings.some(({ isRegistered: is }) => is);
  const lines = findings.map(({ finding }) => finding);
  if (isRegistered || findings.length === 0) {
    return lines;
  }
  const hint = `Run: ${COMMAND} install CLIENT`;
  return [...lines, { section: 'clients', level: 'warning', text: 'the bridge is registered in none of them', hint }];
}

async function examine(id: ClientId, { stateDir, system }: ClientOptions) {
  const client = clientOf(id);
  if (!(await hasAny(client.userFiles(system)))) {
    return [];
  }
  try {
    const plan = await planInstall(id, { system, stateDir, cwd: stateDir, scope: 'user', isImport: false });
    const isRegistered = plan.changes.length === 0;
    const text = `${client.title}: ${isRegistered ? 'registered' : 'not registered'} in ${plan.path}`;
    return [{ isRegistered, finding: { section: 'clients', level: 'ok', text } satisfies Finding }];
  } catch (error) {
    const text = `${client.title}: ${messageOf(error)}`;
    return [{ isRegistered: false, finding: { section: 'clients', level: 'warning', text } satisfies Finding }];
  }
}

async function hasAny(paths: readonly string[]): Promise<boolean> {
  const found = await Promise.all(
    paths.map((path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}
