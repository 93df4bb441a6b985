/** The commands `install` and `uninstall`, and what `doctor` says about registrations. */
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

/** In which clients the bridge is registered; loaded when `doctor` runs. */
export const examineRegistrations: Examination = async ({ env, settings }) => {
  const [{ examineClients }, { thisSystem }] = await Promise.all([
    import('./doctor-check.ts'),
    import('../servers/sources.ts'),
  ]);
  return examineClients({ system: thisSystem(env), stateDir: settings.stateDir });
};
