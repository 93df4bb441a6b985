/**
 * What the layers share. A layer is a sandbox of the operating system around the child of the embedded engine; layers.ts chooses
 * one.
 */
import type { Environment } from '../client-env.ts';

export const LAYER_NAMES = ['bubblewrap', 'unshare', 'seatbelt'] as const;

export type LayerName = (typeof LAYER_NAMES)[number];

/** What a layer needs to know about this machine. */
export interface HostMachine {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  readonly env: Environment;
  /** Path of Node, with links resolved. */
  readonly node: string;
  /** Folder of the built files, without a trailing separator. */
  readonly folder: string;
  /** Paths under which Node found the shared objects it has loaded, including the dynamic loader. */
  readonly sharedObjects: readonly string[];
}

/** A command line, and what the program reads from descriptor 3 when it starts. */
export interface Launch {
  readonly executable: string;
  readonly arguments: readonly string[];
  readonly input?: Uint8Array | undefined;
}

/** A way to start Node: inside a layer, or as a plain process if `layer` is undefined. */
export interface Surroundings {
  readonly layer?: LayerName | undefined;
  /** What is around the child, as the continuation of "Python in WebAssembly, in a separate process, ". */
  readonly description: string;
  /** Folder of the built files as the child sees it, without a trailing separator. */
  readonly folder: string;
  launch(nodeArguments: readonly string[]): Launch;
}

/** Why a layer is not used, in one clause. */
export interface LayerRefusal {
  readonly layer: LayerName;
  readonly reason: string;
}

/** Path of Node in a layer with its own root; the path on the host would reveal the user's folders. */
export const NODE = '/node';
/** Path of the built files in a layer with its own root. */
export const FOLDER = '/embedded';

/** Everything that such a root contains: the path of each file or folder on the host, and in the layer. */
export function mountsOf({ folder, node, sharedObjects }: HostMachine): [source: string, target: string][] {
  return [[node, NODE], [folder, FOLDER], ...sharedObjects.map((path): [string, string] => [path, path])];
}
