/** The contract of a layer of the operating system around the child of the embedded engine. */
import type { Environment } from '../client-env.ts';

export const LAYER_NAMES = ['bubblewrap', 'unshare', 'seatbelt'] as const;

export type LayerName = (typeof LAYER_NAMES)[number];

/** What a layer needs to know of this machine. */
export interface HostMachine {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  readonly env: Environment;
  /** Path of Node without links. */
  readonly node: string;
  /** Folder of the built files, without a separator at its end. */
  readonly folder: string;
  /** Shared objects that Node has loaded, the dynamic loader among them, by the names under which they were found. */
  readonly sharedObjects: readonly string[];
}

/** Program, arguments, and what it reads from descriptor 3 when it starts. */
export interface Launch {
  readonly executable: string;
  readonly arguments: readonly string[];
  readonly input?: Uint8Array | undefined;
}

/** A way to start Node: in a layer, or, without a name, as a plain process. */
export interface Surroundings {
  readonly layer?: LayerName | undefined;
  /** What is around the child, in words that follow "Python in WebAssembly, in a process of its own, ". */
  readonly words: string;
  /** Folder of the built files, where the child sees it, without a separator at its end. */
  readonly folder: string;
  launch(nodeArguments: readonly string[]): Launch;
}

/** Why a layer is not used, in one clause. */
export interface LayerRefusal {
  readonly layer: LayerName;
  readonly reason: string;
}
