import type { Command } from '../../edges/terminal/command.ts';
import { PACKAGES } from './command.ts';

export { readBuilderProgram } from './builder-program.ts';
export { examinePackages } from './doctor-check.ts';
export { explainPackage } from './judge.ts';
export { createPackageLocks } from './locks.ts';
export { readPackageIndex } from './package-index.ts';
export { createPackageInstaller, type PackageInstaller } from './packages.ts';
export { storedPackages } from './stored.ts';

export const packagesCommand: Command<typeof PACKAGES> = {
  table: PACKAGES,
  async run(line, host) {
    const { packages } = await import('./run.ts');
    return packages(line, { ...host, ...(await host.loadContext()) });
  },
};
