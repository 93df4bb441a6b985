/** What Node is told to run Python in WebAssembly: a pure function, pinned by a literal test. */
import type { SandboxLimits } from '../engine.ts';

export interface ChildRequest {
  /** Version of Node, for example `20.19.0`. */
  readonly nodeVersion: string;
  /** Folder of the built files, where the child sees it, without a separator at its end. */
  readonly folder: string;
  /** Name of the sandbox, for `ps` on the host. */
  readonly name: string;
  readonly limits: SandboxLimits;
}

/** Heap of the child's JavaScript, which holds no data of the user but what passes through. Chosen. */
const MAX_HEAP_MEBIBYTES = 256;

/** The arguments of Node. */
export function childArguments({ folder, limits, name, nodeVersion }: ChildRequest): string[] {
  return [
    ...nodeFlags(folder, nodeVersion),
    // `.mjs`, because Node 20.19.0 looks for the package.json of a `.js` file in folders above, which it may not read.
    `${folder}/child.mjs`,
    folder,
    ...[limits.memoryBytes, limits.tmpBytes, limits.workspaceBytes].map(String),
    // Read by nobody but `ps`.
    name,
  ];
}

/**
 * Takes from JavaScript what the child does not need. None of it is the boundary, which is WebAssembly: Node's permission
 * model could be left by a process that runs native code, but it costs nothing.
 */
function nodeFlags(folder: string, nodeVersion: string): string[] {
  return [
    '--no-warnings',
    '--disallow-code-generation-from-strings',
    '--no-addons',
    `--max-old-space-size=${MAX_HEAP_MEBIBYTES}`,
    permissionFlag(nodeVersion),
    // A thread of its own reads the host's frames.
    '--allow-worker',
    `--allow-fs-read=${folder}/*`,
  ];
}

/** The permission model left its experiment in Node 22.13 and 23.5. */
function permissionFlag(nodeVersion: string): string {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const isStable = major > 23 || (major === 23 && minor >= 5) || (major === 22 && minor >= 13);
  return isStable ? '--permission' : '--experimental-permission';
}
