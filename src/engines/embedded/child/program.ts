/** CPython as a WebAssembly instance: its imports, its memory, its four functions. */
import type { DirectoryNode } from './files/node.ts';
import type { Clock } from './wasi/clock.ts';
import { DescriptorTable, type Device } from './wasi/descriptors.ts';
import { GuestMemory } from './wasi/guest-memory.ts';
import { guardedImports, WASI_MODULE } from './wasi/imports.ts';
import type { Waiter } from './wasi/machine.ts';

export const PAGE_BYTES = 65_536;
/** Numbers of the fixed descriptors; the kernel uses 3 to 6 by these numbers. */
export const HOST_INPUT_FD = 3;

/** What the program is given; the order of the devices is that of their descriptors. */
export interface GuestEnvironment {
  readonly root: DirectoryNode;
  readonly clock: Clock;
  readonly waiter: Waiter;
  /** Descriptors 0 to 6: nothing, two outputs, the host's input and output, and what was written to the outputs. */
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

/** `initialPages` is at least what the module declares; `maximumPages` bounds the memory of the guest. */
export function instantiateProgram(
  module: WebAssembly.Module,
  pages: { readonly initial: number; readonly maximum: number },
  surroundings: GuestEnvironment,
): Program {
  const { root, devices, clock, waiter } = surroundings;
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
    fillRandom: surroundings.fillRandom,
  };
  const names = WebAssembly.Module.imports(module).flatMap((one) => (one.module === WASI_MODULE ? [one.name] : []));
  const instance = new WebAssembly.Instance(module, {
    env: { memory },
    bridge: { interrupt: surroundings.takeInterrupt },
    [WASI_MODULE]: guardedImports(machine, names),
  });
  return { memory, descriptors, exports: instance.exports as unknown as ProgramExports };
}
