/**
 * The child process of the embedded engine without the engine: bundled from the sources of this checkout, started directly with
 * a boot program from the test and without any isolation by the operating system.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import { build } from 'esbuild';
import { SupervisorReportSchema } from '../../src/core/protocol/frames.ts';
import { BUILT_FILES_FOLDER } from '../../src/edges/engines/embedded/built-files.ts';
import { BUILT_FILE } from '../../src/edges/engines/embedded/child/built-files.ts';
import { addSnapshot } from '../../src/edges/engines/embedded/child/make-snapshot.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const MIB = 1024 * 1024;
const NAMES = [BUILT_FILE.MODULE, BUILT_FILE.LIBRARY];

/** Whether the build of this checkout includes Python for the embedded engine. */
export function hasPython(): boolean {
  return NAMES.every((name) => existsSync(join(BUILT_FILES_FOLDER, name)));
}

/** A folder with everything a child needs. Remove it with `removeFolder`. */
export async function makeChildFolder(bootFile: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-child-'));
  await build({
    absWorkingDir: root,
    entryPoints: ['src/edges/engines/embedded/child/child.ts'],
    outfile: join(folder, 'child.cjs'),
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
  });
  symlinkSync(join(BUILT_FILES_FOLDER, BUILT_FILE.LIBRARY), join(folder, BUILT_FILE.LIBRARY));
  addSnapshot(folder, readFileSync(bootFile, 'utf8'), wholeModule());
  return folder;
}

/** CPython as it was compiled. The built files have it without its data. */
export function wholeModule(): Uint8Array<ArrayBuffer> {
  return brotliDecompressSync(readFileSync(join(root, 'sandbox-runtime/wasm/artifacts', `${BUILT_FILE.MODULE}.br`)));
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

export interface ChildLimits {
  readonly memoryBytes?: number;
  readonly tmpBytes?: number;
  readonly workspaceBytes?: number;
}

export interface ChildEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface RunningChild {
  readonly process: ChildProcessWithoutNullStreams;
  readonly ended: Promise<ChildEnd>;
}

export interface ChildOptions {
  readonly limits?: ChildLimits;
  readonly env?: Record<string, string>;
  readonly nodeFlags?: readonly string[];
  readonly cwd?: string;
}

export function startChild(folder: string, options: ChildOptions = {}): RunningChild {
  const { memoryBytes = 128 * MIB, tmpBytes = 8 * MIB, workspaceBytes = 8 * MIB } = options.limits ?? {};
  const numbers = [memoryBytes, tmpBytes, workspaceBytes].map(String);
  const child = spawn(process.execPath, [...(options.nodeFlags ?? []), join(folder, 'child.cjs'), folder, ...numbers], {
    env: options.env ?? {},
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const stdout: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  // A child that exits first closes the pipe.
  child.stdin.on('error', () => undefined);
  const ended = new Promise<ChildEnd>((settle) => {
    child.on('close', (exitCode, signal) => settle({ exitCode, signal, stdout: Buffer.concat(stdout), stderr }));
  });
  return { process: child, ended };
}

/** The last report on a child's stderr. Throws if the last line is not a report. */
export function lastReport(stderr: string): ReturnType<typeof SupervisorReportSchema.parse> {
  return SupervisorReportSchema.parse(JSON.parse(stderr.trim().split('\n').at(-1) ?? ''));
}
