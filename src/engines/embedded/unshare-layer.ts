/**
 * `unshare` of util-linux around the child, for machines without bubblewrap: the same namespaces and the same small
 * read-only root, made by a short shell script, but no system-call filter. `setpriv`, of util-linux too, ends all of it with
 * the bridge, whatever the child does, and keeps programs from gaining rights; without it the layer does without both. The script is root in its user namespace. The
 * last `unshare` leaves it for a second one, as a user without capabilities: Node can neither change a mount nor add one,
 * and because its root is changed, the kernel lets it make no third user namespace either.
 */
import type { HostMachine, Surroundings } from './layer.ts';
import { FOLDER, mountsOf, NODE } from './layer.ts';

const USER = '65534';
/**
 * Where the new root is mounted, in the sandbox's own mount namespace only: the first of these that exists. What it hides
 * is not needed, unless a file of ours lies below it.
 */
const ROOTS = ['/sys', '/mnt', '/media', '/srv', '/boot', '/home', '/tmp'];

/** Arguments of setpriv. `--kill-child` below ends the child with `unshare`; this ends `unshare` with the bridge. */
const FOR_ALL_OF_IT = ['--pdeathsig', 'KILL', '--no-new-privs', '--'];
const ISOLATION = '--user --map-root-user --mount --pid --fork --kill-child --net --ipc --uts --cgroup --'.split(' ');

/**
 * Arguments: `unshare`, the folders in which the root may be mounted as one word, the number of mounts, then pairs of source
 * and place, then the command.
 *
 * A remount without `bind` would hand the file system its own options back, among them `uid=` with the number of the user
 * on the host, which the kernel refuses in a user namespace that has no such number (util-linux 2.38, Linux 6.18).
 *
 * A mount of the host keeps the flags `ro`, `nosuid`, `nodev` and `noexec` in a user namespace, and a remount that lacks one
 * is refused (mount_namespaces(7)). So each is given: `noexec` on folders, because a file system that has it cannot hold Node
 * or a shared object, but may hold our files. The flags of access times stay as they are when none is named (mount(2)).
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

/** The layer. Needs `sh`, `mount` and `mkdir` beside `unshare`; the probe shows whether they are there. */
export function buildUnshareLayer(machine: HostMachine, unshare: string, setpriv?: string): Surroundings {
  const mounts = mountsOf(machine);
  const needed = [unshare, ...mounts.map(([source]) => source)];
  const roots = ROOTS.filter((root) => !needed.some((path) => path.startsWith(`${root}/`)));
  return {
    layer: 'unshare',
    words: 'inside Linux namespaces made by unshare',
    folder: FOLDER,
    launch: (nodeArguments) => {
      const [executable = unshare, ...words] = [
        ...(setpriv === undefined ? [] : [setpriv, ...FOR_ALL_OF_IT]),
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
      return { executable, arguments: words };
    },
  };
}
