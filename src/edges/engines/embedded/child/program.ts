/** CPython as a WebAssembly instance: its imports, its memory and its four functions. */
import type { DirectoryNode } from './files/node.ts';
import type { Clock } from './wasi/clock.ts';
import { DescriptorTable, type Device } from './wasi/descriptors.ts';
import { GuestMemory } from './wasi/guest-memory.ts';
import { guardedImports, WASI_MODULE } from './wasi/imports.ts';
import type { Waiter } from './wasi/machine.ts';

export const PAGE_BYTES = 65_536;
/** The descriptor for frames from the host. The kernel relies on the numbers 3 to 6. */
export const HOST_INPUT_FD = 3;

/** Everything the program can reach. */
export interface GuestEnvironment {
  readonly root: DirectoryNode;
  readonly clock: Clock;
  readonly waiter: Waiter;
  /** Descriptors 0 to 6: null, stdout, stderr, input from and output to the host, and the read ends of stdout and stderr. */
  readonly devices: readonly [Device, Device, Device, Device, Device, Device, Device];
  fillRandom(target: Uint8Array): void;
  takeInterrupt(): number;
}

interface ProgramExports {
  _initialize(): void;
  py_alloc(length: number): number;
  py_init(source: number, length: number): number;
  py_run(): number;
}

export interface Program {
  readonly memory: WebAssembly.Memory;
  readonly descriptors: DescriptorTable;
  readonly exports: ProgramExports;
}

/** `pages.initial` must be at least what the module declares; `pages.maximum` is the memory limit of the guest. */
export function instantiateProgram(
  module: WebAssembly.Module,
  pages: { readonly initial: number; readonly maximum: number },
  environment: GuestEnvironment,
): Program {
  const { root, devices, clock, waiter } = environment;
  const memory = new WebAssembly.Memory(pages);
  const descriptors = new DescriptorTable([
    ...devices.map((device) => ({ kind: 'device', device }) as const),
    { kind: 'directory', node: root },
  ]);
  const machine = {
    memory: new GuestMemory(memory),
    descriptors,
    clock,
    waiter,
    inputFd: HOST_INPUT_FD,
    fillRandom: environment.fillRandom,
  };
  const names = WebAssembly.Module.imports(module).flatMap((one) => (one.module === WASI_MODULE ? [one.name] : []));
  const instance = new WebAssembly.Instance(module, {
    env: { memory },
    bridge: { interrupt: environment.takeInterrupt },
    [WASI_MODULE]: guardedImports(machine, names),
  });
  return { memory, descriptors, exports: instance.exports as unknown as ProgramExports };
}
