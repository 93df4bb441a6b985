// @ts-check
/**
 * npm's `prepare` script: builds the package when npm installs it from git or links a folder, because npm then does not run
 * `prepack`. `npm ci` in a checkout also runs this, but builds nothing: use `npm run build`. `npm test` and `npm run demo` build
 * first. npm sets `npm_package_resolved` only for a package that it installs (seen with npm 10.8 and 11.19).
 */
import { existsSync } from 'node:fs';

const isInstalled = process.env['npm_package_resolved'] !== undefined;
if (isInstalled && !existsSync(new URL('../dist/cli.js', import.meta.url))) {
  await import('./build.mjs');
}
