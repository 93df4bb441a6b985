export { readPackageIndex } from './package-index.ts';
export { packageMethods } from './packages.ts';
