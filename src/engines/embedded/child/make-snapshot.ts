/**
 * Makes the memory snapshot at build time: starts CPython, runs the boot source, and saves the memory. The build is reproducible:
 * the clock, the random bytes and the files are fixed.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUILT_FILE, writeManifest } from './built-files.ts';
import { Capture } from './capture.ts';
import { createRoot } from './files/root.ts';
import { openIndexedFile } from './indexed-file.ts';
import { type GuestEnvironment, instantiateProgram, type Program } from './program.ts';
import { encodeSnapshot } from './snapshot.ts';
import { createSteadyClock } from './wasi/clock.ts';
import { NULL_DEVICE } from './wasi/descriptors.ts';

/** Any time before the first run would do. */
const STARTED_MS = Date.UTC(2024, 0, 1);
/** Scratch space for the boot source; its files are not kept. */
const SCRATCH_BYTES = 16 * 1024 * 1024;
/** 32 MiB: more than the module declares. Unused pages cost only address space. */
const INITIAL_PAGES = 512;
const MAXIMUM_PAGES = 4096;
const FIXED_DESCRIPTORS = 8;

/** Adds snapshot and manifest to `directory`, which must contain the module and the library. */
export function addSnapshot(directory: string, bootSource: string): void {
  writeFileSync(join(directory, BUILT_FILE.SNAPSHOT), makeSnapshot(directory, bootSource));
  writeManifest(directory);
}

/** The snapshot after `bootSource` ran. If it fails, throws an error with Python's output. */
export function makeSnapshot(directory: string, bootSource: string): Uint8Array {
  const module = new WebAssembly.Module(readFileSync(join(directory, BUILT_FILE.MODULE)));
  const outputs = [new Capture('stdout'), new Capture('stderr')] as const;
  const program = create(module, directory, outputs);
  const fresh = new Uint8Array(program.memory.buffer).slice();
  program.exports._initialize();
  const status = boot(program, Buffer.from(bootSource));
  const output = outputs.map((capture) => Buffer.from(capture.rest()).toString('utf8')).join('');
  if (status !== 0 || output !== '') {
    throw new Error(`the boot source failed with status ${status}:\n${output}`);
  }
  if (program.descriptors.size !== FIXED_DESCRIPTORS) {
    throw new Error('the boot source left files open, which a snapshot cannot keep');
  }
  return encodeSnapshot(new Uint8Array(program.memory.buffer), fresh);
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
