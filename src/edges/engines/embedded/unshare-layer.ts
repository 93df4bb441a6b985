/**
 * `unshare` from util-linux around the child, for machines without bubblewrap. A short shell script creates the same namespaces and
 * the same small read-only root, but there is no system-call filter. `setpriv`, also from util-linux, kills everything when the
 * bridge ends, and stops programs from gaining privileges; if it is missing, the layer works without these two.
 *
 * The script is root in its user namespace. The last `unshare` then enters a second user namespace as a user without capabilities,
 * so Node cannot change or add mounts. Because its root has changed, the kernel also refuses it a third user namespace.
 */
import { FOLDER, type HostMachine, mountsOf, NODE, type Surroundings } from './layer.ts';

const USER = '65534';
/**
 * The new root is mounted on the first of these folders that exists, visible only in the layer's mount namespace. The layer needs
 * nothing from the folder it hides; folders that contain a file we need are skipped.
 */
const ROOTS = ['/sys', '/mnt', '/media', '/srv', '/boot', '/home', '/tmp'];

/** Arguments of setpriv, which end `unshare` with the bridge. `--kill-child` below ends the child with `unshare`. */
const SETPRIV = ['--pdeathsig', 'KILL', '--no-new-privs', '--'];
const ISOLATION = '--user --map-root-user --mount --pid --fork --kill-child --net --ipc --uts --cgroup --'.split(' ');

/**
 * Arguments: the path of `unshare`, the possible folders for the root as one word, the number of mounts, a pair of source and
 * target for each mount, and the command.
 *
 * A remount without `bind` would repeat the file system's own options. One of them is `uid=` with the user id on the host, which
 * the kernel refuses in a user namespace that does not map this id (util-linux 2.38, Linux 6.18).
 *
 * In a user namespace, mounts of the host keep their flags `ro`, `nosuid`, `nodev` and `noexec`, and the kernel refuses a remount
 * that omits one (mount_namespaces(7)). The script therefore sets them all, `noexec` only on folders: our files may be on a file
 * system with `noexec`, Node and its shared objects cannot. Flags for access times are kept if none is given (mount(2)).
 */
const SCRIPT = `set -e
PATH=/usr/bin:/bin:/usr/sbin:/sbin:\${1%/*}
unshare=$1 roots=$2 count=$3; shift 3
for root in $roots; do [ -d "$root" ] && break; done
mount -t tmpfs -o size=64k,mode=755,nosuid,nodev sandbox "$root"
while [ "$count" -gt 0 ]; do
  place=$root$2 flags=ro,nosuid,nodev
  [ -d "\${place%/*}" ] || mkdir -p "\${place%/*}"
  if [ -d "$1" ]; then mkdir "$place"; flags=$flags,noexec; else : > "$place"; fi
  mount --bind -o "$flags" "$1" "$place"
  shift 2; count=$((count - 1))
done
mount -o remount,bind,ro,nosuid,nodev "$root"
exec "$unshare" --user --map-user=${USER} --map-group=${USER} --root="$root" --wd=/ -- "$@"`;

/** The layer. It also needs `sh`, `mount` and `mkdir`; the probe fails if one is missing. */
export function buildUnshareLayer(machine: HostMachine, unshare: string, setpriv?: string): Surroundings {
  const mounts = mountsOf(machine);
  const needed = [unshare, ...mounts.map(([source]) => source)];
  const roots = ROOTS.filter((root) => !needed.some((path) => path.startsWith(`${root}/`)));
  return {
    layer: 'unshare',
    description: 'inside Linux namespaces made by unshare',
    folder: FOLDER,
    launch: (nodeArguments) => {
      const [executable = unshare, ...rest] = [
        ...(setpriv === undefined ? [] : [setpriv, ...SETPRIV]),
        unshare,
        ...ISOLATION,
        '/bin/sh',
        '-c',
        SCRIPT,
        'sh',
        unshare,
        roots.join(' '),
        String(mounts.length),
        ...mounts.flat(),
        NODE,
        ...nodeArguments,
      ];
      return { executable, arguments: rest };
    },
  };
}
