/**
 * Probes whose result differs from that in a container, by label of the engine, each with its reason. The tests allow only
 * these, and `test/support/probes/README.md` lists them.
 */

const MEMFD = 'refused, because without a cgroup no one could count that memory';
/** Release 20221219 of Debian 12. */
const GVISOR_DEVICES = 'they are devices of gVisor’s own kernel, not of the host';
const GVISOR_IGNORES = 'gVisor’s kernel accepts the value, and the host’s kernel never sees it';
const GVISOR_PID_1 =
  'gVisor neither hides the first process nor blocks signals to it: code can end its own session and give a false reason';

const KUBELET_FILES = 'Kubernetes mounts folders without noexec, which gives no rights beyond Python’s';
const TERMINATION_LOG = 'the kubelet mounts a file of its own, /dev/termination-log, whose size is limited';
const KUBELET_SIZES = 'Kubernetes 1.20 does not limit their size; the limit of memory does';

const WASM = 'not available in WebAssembly';

export const EXCEPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'podman-rootless': { 'use: executing from memory (memfd), despite noexec': MEMFD },
  bubblewrap: { 'use: executing from memory (memfd), despite noexec': MEMFD },
  embedded: {
    'use: child processes and a shell': WASM,
    'use: threads': WASM,
    'use: sockets between its own processes': WASM,
    'use: shared memory': WASM,
    'use: executing from memory (memfd), despite noexec': WASM,
    'bombs: memory and files together': 'files do not count as memory of Python; each has its own limit',
  },
  kubernetes: {
    'network: a route': 'a Pod has an address; if no network policy is in force, the sandbox refuses its sockets',
    'files: executing a file in /tmp': KUBELET_FILES,
    'files: executing a file in /workspace': KUBELET_FILES,
    'files: more than 64 MiB in /tmp': KUBELET_SIZES,
    'files: more than 16 MiB in /dev/shm': KUBELET_SIZES,
    'files: devices beyond the harmless ones': TERMINATION_LOG,
    'sight: mounts of host folders': TERMINATION_LOG,
    'use: sockets between its own processes': 'refused, because no network policy is in force on the test cluster',
  },
  'podman-gvisor': {
    'files: creating a device': GVISOR_DEVICES,
    'files: devices beyond the harmless ones': GVISOR_DEVICES,
    'rights: gaining rights by executing (no_new_privs unset)': 'gVisor’s /proc does not show it',
    'rights: a higher priority': GVISOR_IGNORES,
    'rights: escaping the OOM killer': GVISOR_IGNORES,
    'PID 1: reading or writing its memory': GVISOR_PID_1,
    'PID 1: its descriptors': GVISOR_PID_1,
    'PID 1: stopping or ending it with any signal': GVISOR_PID_1,
    'sight: mounts of host folders':
      'the scratch space /dev/shm, which the engine creates for each sandbox, is mounted over 9p',
    'use: shared memory': 'refused, because without a cgroup no one could count what code shares through /dev/zero',
    'use: executing from memory (memfd), despite noexec': MEMFD,
  },
};
