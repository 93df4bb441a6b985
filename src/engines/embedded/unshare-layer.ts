/**
 * `unshare` of util-linux around the child, for machines without bubblewrap: the same namespaces and the same small
 * read-only root, made by a short shell script, but no system-call filter. The last `unshare` leaves the user of the
 * script for one without rights: what was mounted cannot be changed, and nothing can be mounted by it.
 */
import type { Machine, Surroundings } from './layers.ts';
import { FOLDER, mountsOf, NODE } from './small-root.ts';

const USER = '65534';
/** Hidden, in the sandbox's own mount namespace only, by its root. Exists everywhere and holds none of our files. */
const ROOT = '/sys';

const ISOLATION = '--user --map-root-user --mount --pid --fork --kill-child --net --ipc --uts --cgroup --'.split(' ');

/**
 * Arguments: `unshare`, the number of mounts, then pairs of source and place, then the command. The flags beside `ro` are
 * those that a user's mounts may have anyway and that must not be taken from them.
 */
const SCRIPT = `set -e
PATH=/usr/bin:/bin:/usr/sbin:/sbin
unshare=$1 count=$2; shift 2
mount -t tmpfs -o size=64k,mode=755,nosuid,nodev sandbox ${ROOT}
while [ "$count" -gt 0 ]; do
  place=${ROOT}$2
  mkdir -p "\${place%/*}"
  if [ -d "$1" ]; then mkdir "$place"; else : > "$place"; fi
  mount --bind -o ro,nosuid,nodev "$1" "$place"
  shift 2; count=$((count - 1))
done
mount -o remount,ro,nosuid,nodev ${ROOT}
exec "$unshare" --user --map-user=${USER} --map-group=${USER} --root=${ROOT} --wd=/ -- "$@"`;

/** The layer. Needs `sh`, `mount` and `mkdir` beside `unshare`; the probe tells. */
export function buildUnshareLayer(machine: Machine, unshare: string): Surroundings {
  const mounts = mountsOf(machine);
  return {
    layer: 'unshare',
    words: 'inside Linux namespaces of its own',
    folder: FOLDER,
    launch: (nodeArguments) => ({
      executable: unshare,
      arguments: [
        ...ISOLATION,
        '/bin/sh',
        '-c',
        SCRIPT,
        'sh',
        unshare,
        String(mounts.length),
        ...mounts.flat(),
        NODE,
        ...nodeArguments,
      ],
    }),
  };
}
