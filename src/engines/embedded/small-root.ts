/** What a root of its own holds for the child: Node, its shared objects, and the built files. */
import type { HostMachine } from './layer.ts';

/** Where the child finds Node: the real path would tell of the user's folders. */
export const NODE = '/node';
/** Where the child finds the built files. */
export const FOLDER = '/embedded';

/** Files and folders of the host, and where each appears. */
export function mountsOf({ folder, node, sharedObjects }: HostMachine): [source: string, place: string][] {
  return [[node, NODE], [folder, FOLDER], ...sharedObjects.map((path): [string, string] => [path, path])];
}
