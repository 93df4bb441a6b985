/**
 * The sandbox of macOS around the child. Written from Apple's own profiles in /System/Library/Sandbox/Profiles and not run
 * on a Mac yet: if Node does not start in it, the probe or the first start says so, and it is left out.
 */
import type { HostMachine, Surroundings } from './layer.ts';

const SANDBOX_EXEC = '/usr/bin/sandbox-exec';

/** Everything is denied but running Node and reading what it is made of. `node` and `folder` are paths without links. */
export function seatbeltProfile({ folder, node }: Pick<HostMachine, 'folder' | 'node'>): string {
  return [
    '(version 1)',
    '(deny default)',
    `(allow process-exec (literal ${quote(node)}))`,
    '(allow sysctl-read)',
    '(allow file-read-metadata)',
    `(allow file-read* (literal ${quote(node)}) (subpath ${quote(folder)}))`,
    '(allow file-read* (subpath "/usr/lib") (subpath "/System/Library") (subpath "/private/var/db/dyld"))',
    '(allow file-read* (literal "/") (literal "/dev/null") (literal "/dev/urandom") (literal "/dev/random"))',
  ].join('\n');
}

/** The layer. */
export function buildSeatbeltLayer(machine: HostMachine): Surroundings {
  return {
    layer: 'seatbelt',
    words: 'inside a sandbox of macOS',
    folder: machine.folder,
    launch: (nodeArguments) => ({
      executable: SANDBOX_EXEC,
      arguments: ['-p', seatbeltProfile(machine), machine.node, ...nodeArguments],
    }),
  };
}

/** A string of the profile language, which is Scheme. */
function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, (character) => `\\${character}`)}"`;
}
