/** This package: its folder and its version. Apart from `package.ts`, which looks at the file system when it is loaded. */
import { readFileSync } from 'node:fs';

/** Defined by `scripts/build.mjs`; absent when the sources run unbuilt. */
declare const BUILD_VERSION: string | undefined;
export const IS_BUILT = typeof BUILD_VERSION === 'string';

/** The root folder of the package, as a file URL that ends with `/`. In the bundle, every file is directly in `dist/`. */
export const PACKAGE_ROOT = new URL(IS_BUILT ? '../' : '../../../', import.meta.url);

/** The version of this package, such as `1.2.3`. */
export const VERSION: string = typeof BUILD_VERSION === 'string' ? BUILD_VERSION : readVersion();

function readVersion(): string {
  const text = readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
