/** Registers the bridge in MCP clients, moves their servers to it, and undoes both. */
import type { Command, CommandHost } from '../../edges/terminal/command.ts';
import type { Examination } from '../../edges/terminal/finding.ts';
import { INSTALL, type InstallCommand, UNINSTALL } from './command.ts';

async function run(line: InstallCommand, host: CommandHost): Promise<number> {
  const { install } = await import('./run.ts');
  return install(line, { ...host, ...(await host.loadContext()), person: await host.findPerson() });
}

export const installCommand: Command<typeof INSTALL> = { table: INSTALL, run };
export const uninstallCommand: Command<typeof UNINSTALL> = { table: UNINSTALL, run };

/** Reports the clients in which the bridge is registered. */
export const examineRegistrations: Examination = async ({ env, settings }) => {
  const [{ examineClients }, { thisSystem }] = await Promise.all([
    import('./doctor-check.ts'),
    import('../../edges/servers/sources.ts'),
  ]);
  return examineClients({ system: thisSystem(env), stateDir: settings.stateDir });
};

/** The variables of the bridge in each client: they win over stored settings. */
export async function listClientVariables(env: NodeJS.ProcessEnv, stateDir: string) {
  const [{ listVariables }, { thisSystem }] = await Promise.all([
    import('./doctor-check.ts'),
    import('../../edges/servers/sources.ts'),
  ]);
  return listVariables({ system: thisSystem(env), stateDir });
}
