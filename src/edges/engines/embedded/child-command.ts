/** The arguments with which Node runs Python or JavaScript in WebAssembly: pure functions, pinned by a literal test. */
import type { SandboxLimits } from '../../../core/session/engine.ts';

export interface ChildRequest {
  /** Version of Node, for example `20.19.0`. */
  readonly nodeVersion: string;
  /** Folder of the built files as the child sees it, without a trailing separator. */
  readonly folder: string;
  /** Name of the sandbox, for `ps` on the host. */
  readonly name: string;
  readonly limits: SandboxLimits;
}

export function childArguments(
  { folder, limits, name, nodeVersion }: ChildRequest,
  work: 'session' | 'program' = 'session',
): string[] {
  return [
    ...nodeFlags(folder, nodeVersion),
    // `.cjs`, because for a `.js` file Node 20.19.0 looks for a package.json in parent folders, which it may not read.
    `${folder}/child.cjs`,
    folder,
    ...[limits.memoryBytes, limits.tmpBytes, limits.workspaceBytes].map(String),
    work,
    // Only for `ps`.
    name,
  ];
}

/** The arguments for a program in JavaScript. */
export function javascriptArguments({ folder, limits, name, nodeVersion }: ChildRequest): string[] {
  return [
    ...nodeFlags(folder, nodeVersion),
    `${folder}/javascript.cjs`,
    folder,
    ...[limits.memoryBytes, limits.workspaceBytes].map(String),
    // Only for `ps`.
    name,
  ];
}

/**
 * Removes from JavaScript what the child does not need. This is not the boundary; WebAssembly is. Native code could escape Node's
 * permission model, but the model costs nothing. None is a flag of V8: with any of them, Node compiles its own modules again at each
 * start, 13 ms in the first thread and 45 ms in another (measured on Node 20).
 */
function nodeFlags(folder: string, nodeVersion: string): string[] {
  return [
    '--no-warnings',
    '--no-addons',
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
