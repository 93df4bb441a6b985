/**
 * bubblewrap around the child. Its root contains only Node, its shared objects and the built files, all read-only: no /proc, no
 * /dev, nothing writable. It has no network, no privileges, and our system-call filter.
 */
import { FOLDER, type HostMachine, mountsOf, NODE, type Surroundings } from './layer.ts';

/** Needed by the loader on systems that keep shared objects outside the default folders. */
const LOADER_CACHE = '/etc/ld.so.cache';
/** The descriptor from which bubblewrap reads the filter. */
const FILTER_DESCRIPTOR = '3';

/** 65534 is `nobody` on every Linux. */
const ISOLATION = [
  '--unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup --disable-userns',
  '--as-pid-1 --die-with-parent --new-session --uid 65534 --gid 65534 --hostname sandbox --cap-drop ALL --clearenv',
].flatMap((line) => line.split(' '));

/** The layer. `filter` is undefined on architectures that the filter does not support; `description` then omits it. */
export function buildBubblewrapLayer(
  machine: HostMachine,
  bwrap: string,
  filter: Uint8Array | undefined,
): Surroundings {
  const mounts = mountsOf(machine);
  return {
    layer: 'bubblewrap',
    description: filter === undefined ? 'inside bubblewrap' : 'inside bubblewrap and a system-call filter',
    folder: FOLDER,
    launch: (nodeArguments) => ({
      executable: bwrap,
      arguments: [
        ...ISOLATION,
        ...mounts.flatMap(([source, place]) => ['--ro-bind', source, place]),
        '--ro-bind-try',
        LOADER_CACHE,
        LOADER_CACHE,
        ...(filter === undefined ? [] : ['--seccomp', FILTER_DESCRIPTOR]),
        '--chdir',
        '/',
        '--remount-ro',
        '/',
        '--',
        NODE,
        ...nodeArguments,
      ],
      input: filter,
    }),
  };
}
