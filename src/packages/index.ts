export { examinePackages } from './doctor-check.ts';
export { readPackageIndex } from './package-index.ts';
export { packageMethods } from './packages.ts';
