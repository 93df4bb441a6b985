/** The command `packages`. */
import type { Command } from '../terminal/command.ts';
import { definePackages, type PackagesCommand } from './command-line.ts';

export const packagesCommand: Command<PackagesCommand> = {
  names: ['packages'],
  defaultActions: { packages: 'list' },
  define: definePackages,
  async run(line, host) {
    const { packages } = await import('./run.ts');
    return packages(line, { ...host, ...(await host.loadContext()) });
  },
};
