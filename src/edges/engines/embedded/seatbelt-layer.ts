/**
 * The macOS sandbox around the child. The profile follows Apple's own in /System/Library/Sandbox/Profiles and has not yet been run
 * on a Mac. If Node does not start in it, the probe or the first start fails and the layer is not used.
 */
import type { HostMachine, Surroundings } from './layer.ts';

const SANDBOX_EXEC = '/usr/bin/sandbox-exec';

/** Denies everything except running Node and reading its files. Links in `node` and `folder` must be resolved. */
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

export function buildSeatbeltLayer(machine: HostMachine): Surroundings {
  return {
    layer: 'seatbelt',
    description: 'inside a macOS sandbox',
    folder: machine.folder,
    launch: (nodeArguments) => ({
      executable: SANDBOX_EXEC,
      arguments: ['-p', seatbeltProfile(machine), machine.node, ...nodeArguments],
    }),
  };
}

/** A string literal of the profile language, which is Scheme. */
function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, (character) => `\\${character}`)}"`;
}
