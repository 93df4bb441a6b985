/**
 * bubblewrap around the child: a root that holds Node, its shared objects and the built files, all read-only, and nothing
 * else: no /proc, no /dev, no place to write. No network, no privileges, our system-call filter.
 */
import type { HostMachine, Surroundings } from './layer.ts';
import { FOLDER, mountsOf, NODE } from './layer.ts';

/** Tells the loader where shared objects are, on systems where the folders do not tell. */
const LOADER_CACHE = '/etc/ld.so.cache';
/** The descriptor on which bubblewrap reads the filter. */
const FILTER_DESCRIPTOR = '3';

/** 65534 is `nobody` on every Linux. */
const ISOLATION = [
  '--unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup --disable-userns',
  '--as-pid-1 --die-with-parent --new-session --uid 65534 --gid 65534 --hostname sandbox --cap-drop ALL --clearenv',
].flatMap((words) => words.split(' '));

/** The layer; without `filter`, on a machine whose system-call numbers are not known, its words say so. */
export function buildBubblewrapLayer(
  machine: HostMachine,
  bwrap: string,
  filter: Uint8Array | undefined,
): Surroundings {
  const mounts = mountsOf(machine);
  return {
    layer: 'bubblewrap',
    words: filter === undefined ? 'inside bubblewrap' : 'inside bubblewrap and a system-call filter',
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
