// @ts-check
/** commander and cross-spawn, which are CommonJS, call `require` for modules of Node; ES modules have none. */
export const REQUIRE_BANNER =
  "import { createRequire as createRequireOfNode } from 'node:module';\n" +
  'const require = createRequireOfNode(import.meta.url);';
