// @ts-check
/**
 * npm's `prepare` script: builds the package that npm takes from git or links from a folder, neither of which runs `prepack`.
 * `npm ci` in a checkout also ends here and builds nothing: `npm run build` does, and `npm test` and `npm run demo` begin with it.
 * npm sets `npm_package_resolved` only for a package that it installs (seen with npm 10.8 and 11.19).
 */
import { existsSync } from 'node:fs';

const isInstalled = process.env['npm_package_resolved'] !== undefined;
if (isInstalled && !existsSync(new URL('../dist/cli.js', import.meta.url))) {
  await import('./build.mjs');
}
