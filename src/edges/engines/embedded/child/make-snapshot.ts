/**
 * Makes the memory snapshot at build time: starts CPython, runs the boot source, and saves the memory. The build is reproducible:
 * the clock, the random bytes and the files are fixed.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUILT_FILE, writeManifest } from './built-files.ts';
import { Capture } from './capture.ts';
import { createRoot } from './files/root.ts';
import { openIndexedFile } from './indexed-file.ts';
import { type GuestEnvironment, instantiateProgram, type Program } from './program.ts';
import { encodeSnapshot } from './snapshot.ts';
import { createSteadyClock } from './wasi/clock.ts';
import { NULL_DEVICE } from './wasi/descriptors.ts';
import { withoutData } from './without-data.ts';

/** Any time before the first run would do. */
const STARTED_MS = Date.UTC(2024, 0, 1);
/** Scratch space for the boot source; its files are not kept. */
const SCRATCH_BYTES = 16 * 1024 * 1024;
/** 32 MiB: more than the module declares. Unused pages cost only address space. */
const INITIAL_PAGES = 512;
const MAXIMUM_PAGES = 4096;
const FIXED_DESCRIPTORS = 8;

/**
 * Adds the module, its snapshot and the manifest to `directory`, which must contain the library. Without its data, the module is 3 MB
 * smaller, which V8 would keep in memory in each sandbox; the snapshot has them.
 */
export function addSnapshot(directory: string, bootSource: string, whole: Uint8Array<ArrayBuffer>): void {
  const bare = withoutData(whole);
  writeFileSync(join(directory, BUILT_FILE.MODULE), bare);
  writeFileSync(join(directory, BUILT_FILE.SNAPSHOT), makeSnapshot(directory, bootSource, { whole, bare }));
  writeManifest(directory);
}

interface Code {
  readonly whole: Uint8Array<ArrayBuffer>;
  readonly bare: Uint8Array<ArrayBuffer>;
}

/** What the memory of `bare` lacks after `bootSource` ran in `whole`. If it fails, throws an error with Python's output. */
function makeSnapshot(directory: string, bootSource: string, { whole, bare }: Code): Uint8Array {
  const outputs = [new Capture('stdout'), new Capture('stderr')] as const;
  const program = create(new WebAssembly.Module(whole), directory, outputs);
  const fresh = create(new WebAssembly.Module(bare), directory, outputs).memory.buffer;
  program.exports._initialize();
  const status = boot(program, Buffer.from(bootSource));
  const output = outputs.map((capture) => Buffer.from(capture.rest()).toString('utf8')).join('');
  if (status !== 0 || output !== '') {
    throw new Error(`the boot source failed with status ${status}:\n${output}`);
  }
  if (program.descriptors.size !== FIXED_DESCRIPTORS) {
    throw new Error('the boot source left files open, which a snapshot cannot keep');
  }
  return encodeSnapshot(new Uint8Array(program.memory.buffer), new Uint8Array(fresh));
}

function boot({ exports, memory }: Program, source: Uint8Array): number {
  const pointer = exports.py_alloc(source.length) >>> 0;
  new Uint8Array(memory.buffer).set(source, pointer);
  return exports.py_init(pointer, source.length);
}

function create(module: WebAssembly.Module, directory: string, [stdout, stderr]: readonly [Capture, Capture]): Program {
  const clock = createSteadyClock(STARTED_MS);
  const limits = { tmpBytes: SCRATCH_BYTES, workspaceBytes: SCRATCH_BYTES };
  const noHost = { ...NULL_DEVICE, hasInput: () => false, wait: () => false };
  const environment: GuestEnvironment = {
    root: createRoot(() => openIndexedFile(join(directory, BUILT_FILE.LIBRARY)), limits, clock.realtime()),
    clock,
    waiter: noHost,
    devices: [NULL_DEVICE, stdout.writeEnd, stderr.writeEnd, noHost, noHost, stdout.readEnd, stderr.readEnd],
    fillRandom: (target) => target.fill(0),
    takeInterrupt: () => 0,
  };
  return instantiateProgram(module, { initial: INITIAL_PAGES, maximum: MAXIMUM_PAGES }, environment);
}
