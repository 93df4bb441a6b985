/**
 * Probes whose result differs from that in a container, by label of the engine, each with its reason. The tests allow only
 * these, and `docs/internals/isolation.md` lists them.
 */

const NOEXEC = 'bubblewrap cannot mount with `noexec`; a program made there has no more rights than Python has';
const MEMFD = 'refused, because without a cgroup no one could count that memory';
/** Release 20221219 of Debian 12. */
const GVISOR_DEVICES = 'they are devices of its own kernel, and lead to none of the host';
const GVISOR_IGNORES = 'its own kernel takes the value, and that of the host sees nothing of it';
const GVISOR_PID_1 =
  'it neither hides the first process nor keeps signals from it: code can end its own session and lie about why';

const WASM = 'WebAssembly has none of it';

export const EXCEPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'podman-rootless': { 'use: executing from memory (memfd), despite noexec': MEMFD },
  bubblewrap: {
    'files: executing a file in /tmp': NOEXEC,
    'files: executing a file in /workspace': NOEXEC,
    'files: executing a file in /dev/shm': NOEXEC,
    'use: executing from memory (memfd), despite noexec': MEMFD,
  },
  embedded: {
    'use: child processes and a shell': WASM,
    'use: threads': WASM,
    'use: sockets between its own processes': WASM,
    'use: shared memory': WASM,
    'use: executing from memory (memfd), despite noexec': WASM,
    'bombs: memory and files together': 'files do not count for the memory of Python; both have bounds of their own',
  },
  'podman-gvisor': {
    'files: making a device': GVISOR_DEVICES,
    'files: devices beyond the harmless ones': GVISOR_DEVICES,
    'rights: gaining rights by executing (no_new_privs unset)': 'its /proc does not show it',
    'rights: a higher priority': GVISOR_IGNORES,
    'rights: escaping the choice of the kernel when memory runs out': GVISOR_IGNORES,
    'PID 1: reading or writing its memory': GVISOR_PID_1,
    'PID 1: its descriptors': GVISOR_PID_1,
    'PID 1: stopping or ending it with any signal': GVISOR_PID_1,
    'sight: mounts of folders of the host':
      'the scratch space /dev/shm, which the engine makes for each sandbox, comes by 9p',
    'use: executing from memory (memfd), despite noexec': MEMFD,
  },
};
