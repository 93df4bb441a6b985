/** The arguments with which Node runs Python or JavaScript in WebAssembly: pure functions, pinned by a literal test. */
import type { SandboxLimits } from '../engine.ts';

export interface ChildRequest {
  /** Version of Node, for example `20.19.0`. */
  readonly nodeVersion: string;
  /** Folder of the built files as the child sees it, without a trailing separator. */
  readonly folder: string;
  /** Name of the sandbox, for `ps` on the host. */
  readonly name: string;
  readonly limits: SandboxLimits;
}

/** Heap of the child's JavaScript, which holds user data only while it passes through. Chosen. */
const MAX_HEAP_MEBIBYTES = 256;

export function childArguments({ folder, limits, name, nodeVersion }: ChildRequest): string[] {
  return [
    ...nodeFlags(folder, nodeVersion),
    // `.mjs`, because for a `.js` file Node 20.19.0 looks for a package.json in parent folders, which it may not read.
    `${folder}/child.mjs`,
    folder,
    ...[limits.memoryBytes, limits.tmpBytes, limits.workspaceBytes].map(String),
    // Only for `ps`.
    name,
  ];
}

/** Bytes of one page of WebAssembly. */
const WASM_PAGE_BYTES = 65_536;
/** QuickJS cannot start in less (measured: 1.3 MiB, and its files). Its own limit then reports what is missing. */
const MIN_WASM_PAGES = 256;
/** 4 GiB, all that 32 bits can address. */
const MAX_WASM_PAGES = 65_536;

/** The arguments for a program in JavaScript. QuickJS can have no more memory than V8 allows to any module. */
export function javascriptArguments({ folder, limits, name, nodeVersion }: ChildRequest): string[] {
  const pages = Math.max(MIN_WASM_PAGES, Math.floor(limits.memoryBytes / WASM_PAGE_BYTES));
  return [
    ...nodeFlags(folder, nodeVersion),
    `--wasm-max-mem-pages=${Math.min(pages, MAX_WASM_PAGES)}`,
    `${folder}/javascript.mjs`,
    folder,
    ...[limits.memoryBytes, limits.workspaceBytes].map(String),
    // Only for `ps`.
    name,
  ];
}

/**
 * Removes from JavaScript what the child does not need. This is not the boundary; WebAssembly is. Native code could escape Node's
 * permission model, but the model costs nothing.
 */
function nodeFlags(folder: string, nodeVersion: string): string[] {
  return [
    '--no-warnings',
    '--disallow-code-generation-from-strings',
    '--no-addons',
    '--expose-gc',
    `--max-old-space-size=${MAX_HEAP_MEBIBYTES}`,
    permissionFlag(nodeVersion),
    // Python and QuickJS run in a second thread.
    '--allow-worker',
    `--allow-fs-read=${folder}/*`,
  ];
}

/** The permission model became stable in Node 22.13 and 23.5. */
function permissionFlag(nodeVersion: string): string {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const isStable = major > 23 || (major === 23 && minor >= 5) || (major === 22 && minor >= 13);
  return isStable ? '--permission' : '--experimental-permission';
}
