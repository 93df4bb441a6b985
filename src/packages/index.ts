export { readBuilderProgram } from './builder-program.ts';
export { packagesCommand } from './command.ts';
export { examinePackages } from './doctor-check.ts';
export { explainPackage } from './judge.ts';
export { createPackageLocks } from './locks.ts';
export { readPackageIndex } from './package-index.ts';
export { createPackageInstaller, type PackageInstaller } from './packages.ts';
export { storedPackages } from './stored.ts';
