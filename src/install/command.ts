/** The commands `install` and `uninstall`, and the check of registrations for `doctor`. */
import type { Command } from '../terminal/command.ts';
import type { Examination } from '../terminal/finding.ts';
import { defineInstall, type InstallCommand } from './command-line.ts';

export const installCommand: Command<InstallCommand> = {
  names: ['install', 'uninstall'],
  define: defineInstall,
  async run(line, host) {
    const { install } = await import('./run.ts');
    return install(line, { ...host, ...(await host.loadContext()), person: await host.findPerson() });
  },
};

/** Reports the clients in which the bridge is registered. */
export const examineRegistrations: Examination = async ({ env, settings }) => {
  const [{ examineClients }, { thisSystem }] = await Promise.all([
    import('./doctor-check.ts'),
    import('../servers/sources.ts'),
  ]);
  return examineClients({ system: thisSystem(env), stateDir: settings.stateDir });
};

/** The variables of the bridge in each client: they win over stored settings. */
export async function listClientVariables(env: NodeJS.ProcessEnv, stateDir: string) {
  const [{ listVariables }, { thisSystem }] = await Promise.all([
    import('./doctor-check.ts'),
    import('../servers/sources.ts'),
  ]);
  return listVariables({ system: thisSystem(env), stateDir });
}
