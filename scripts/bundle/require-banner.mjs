// @ts-check
/** Defines `require`, which ES modules lack: commander and cross-spawn are CommonJS and call it for Node's modules. */
export const REQUIRE_BANNER =
  "import { createRequire as createRequireOfNode } from 'node:module';\n" +
  'const require = createRequireOfNode(import.meta.url);';
