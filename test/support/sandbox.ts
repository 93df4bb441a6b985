/** Runs programs in a sandbox from a test, and finds what is left afterwards. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { KEPT_STDERR_BYTES } from '../../src/core/base/limits.ts';
import type { Engine, Sandbox, SandboxExit } from '../../src/core/session/engine.ts';
import { INSTANCE_LABEL, PID_LABEL } from '../../src/edges/engines/container/labels.ts';
import type { ProgressListener } from '../../src/edges/engines/container/preparation.ts';
import { findExecutable } from '../../src/edges/engines/executable.ts';
import { Kubectl } from '../../src/edges/engines/kubernetes/kubectl.ts';
import { listPods } from '../../src/edges/engines/kubernetes/pods.ts';
import { COMMANDS, type TestEngine } from './engines.ts';
import { descendantsOf } from './processes.ts';

const ROOT = join(import.meta.dirname, '..', '..');

export interface FinishedRun {
  readonly exit: SandboxExit;
  readonly stdout: string;
  readonly stderr: string;
  readonly sandbox: Sandbox;
}

/** Starts `python3 -c code` in a sandbox. */
export function startPython(engine: Engine, code: string, session = 'test'): Promise<Sandbox> {
  return engine.start({ command: ['python3', '-I', '-u', '-c', code], session });
}

/** Runs Python in a sandbox to its end. */
export async function runPython(engine: Engine, code: string): Promise<FinishedRun> {
  const sandbox = await startPython(engine, code);
  sandbox.stdin.end();
  const [stdout, stderr, exit] = await Promise.all([readAll(sandbox.stdout), readAll(sandbox.stderr), sandbox.exited]);
  return { exit, stdout, stderr, sandbox };
}

export interface ReadySandbox {
  readonly sandbox: Sandbox;
  /** How many starts it took. */
  readonly starts: number;
}

/**
 * Starts `python3 -c code` and waits for its first output, as a session does: it starts again whenever the engine says that it
 * learned something. Rejects with the engine's explanation.
 */
export async function startUntilReady(
  engine: Engine,
  code: string,
  onProgress: ProgressListener = ignore,
): Promise<ReadySandbox> {
  for (let starts = 1; ; starts += 1) {
    await engine.prepare(onProgress);
    const sandbox = await startPython(engine, code);
    const stderr = keepTail(sandbox.stderr);
    const isReady = await new Promise<boolean>((resolve) => {
      sandbox.stdout.once('data', () => resolve(true));
      void sandbox.exited.then(() => resolve(false));
    });
    if (isReady) {
      return { sandbox, starts };
    }
    const error = engine.explainStartFailure(sandbox, await sandbox.exited, stderr());
    if (error.data['retryNow'] !== true) {
      throw error;
    }
  }
}

/** Resolves with the first bytes, as text. */
export function firstOutput(sandbox: Sandbox): Promise<string> {
  sandbox.stderr.resume();
  return new Promise((resolve, reject) => {
    sandbox.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString('utf8')));
    sandbox.stdout.once('end', () => reject(new Error(`${sandbox.id} ended without output`)));
  });
}

export interface SandboxOwner {
  readonly instanceId: string;
  readonly sandboxId: string;
  /** Sends SIGKILL, and resolves when the process is gone. */
  kill(): Promise<void>;
}

/**
 * Starts another process that owns a sandbox which does not end by itself. Resolves when the sandbox runs. `folder` holds the
 * files of the embedded engine, or a replacement for its program; by default, they are those of this checkout.
 */
export async function startOwner(engine: TestEngine, folder?: string): Promise<SandboxOwner> {
  const instanceId = `owner-${process.pid}-${Date.now()}`;
  // What it would remove if it ended normally.
  const temporary = mkdtempSync(join(tmpdir(), 'bridge-owner-'));
  const loader = join(ROOT, 'scripts', 'typescript-loader.mjs');
  const script = join(ROOT, 'test', 'fixtures', 'engines', 'owner.ts');
  const executable = findExecutable(COMMANDS[engine.name], engine.env) ?? engine.name;
  const words = [engine.name, executable, instanceId, ...(folder === undefined ? [] : [folder])];
  const child = spawn(process.execPath, ['--import', loader, script, ...words], {
    cwd: ROOT,
    env: { ...engine.env, ...(engine.isContainer ? {} : { TMPDIR: temporary }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    instanceId,
    sandboxId: line.toString('utf8').trim(),
    async kill() {
      child.kill('SIGKILL');
      await exited;
      rmSync(temporary, { recursive: true });
    },
  };
}

/**
 * Ids of containers with the label of `instanceId`, in any state. For engines without containers, ids of processes with that
 * name.
 */
export async function containersOf(engine: TestEngine, instanceId: string): Promise<string[]> {
  if (engine.name === 'kubernetes') {
    const pods = await podsOf(engine);
    return pods.filter(({ labels }) => labels.instanceId === instanceId).map(({ id }) => id);
  }
  if (!engine.isContainer) {
    return clientsOf(`mcp-bridge-${instanceId}-`).map(String);
  }
  const { stdout } = await engine.run('ps', '--all', '--quiet', `--filter=label=${INSTANCE_LABEL}=${instanceId}`);
  return stdout.split('\n').filter((line) => line !== '');
}

/**
 * Ids of containers that the bridge with this process id owns, running or not. For engines without containers, ids of its
 * sandboxes.
 */
export async function sandboxesOfBridge(engine: TestEngine, bridgePid: number): Promise<string[]> {
  if (engine.name === 'kubernetes') {
    const pods = await podsOf(engine);
    return pods.filter(({ isRunning, labels }) => isRunning && labels.owner.pid === bridgePid).map(({ id }) => id);
  }
  if (!engine.isContainer) {
    const below = descendantsOf(bridgePid);
    return clientsOf('mcp-bridge-')
      .filter((client) => below.includes(client))
      .map(String);
  }
  const { stdout } = await engine.run('ps', '--all', '--quiet', `--filter=label=${PID_LABEL}=${bridgePid}`);
  return stdout.split('\n').filter((line) => line !== '');
}

/** The Pods of all bridges. */
function podsOf(engine: TestEngine): ReturnType<typeof listPods> {
  const executable = findExecutable(COMMANDS.kubernetes, engine.env) ?? COMMANDS.kubernetes;
  return listPods(new Kubectl(executable, engine.env, {}), 'Pod');
}

/** Process ids of engine clients whose sandbox name contains `text`. bubblewrap is two processes until it runs the program. */
export function clientsOf(text: string): number[] {
  return findProcesses(text).filter((pid, index, all) => !all.slice(0, index).includes(parentOf(pid)));
}

/** Process ids whose command line contains `text`, in the order of their start. */
export function findProcesses(text: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid && commandLine(pid).includes(text))
    .toSorted((a, b) => a - b);
}

/** Sends a signal from outside to the processes in a sandbox. */
export async function signalSandbox(engine: TestEngine, sandboxId: string, signal: 'STOP' | 'KILL'): Promise<void> {
  if (engine.isContainer) {
    await engine.run('kill', `--signal=${signal}`, sandboxId);
    return;
  }
  if (engine.name === 'kubernetes') {
    // Nothing outside of a node can send other signals.
    await engine.run('delete', 'pod', sandboxId, '--grace-period=0', '--force', '--wait=false');
    return;
  }
  for (const pid of clientsOf(sandboxId).flatMap(descendantsOf)) {
    try {
      process.kill(pid, `SIG${signal}`);
    } catch {
      // Ending the first process ended all others.
    }
  }
}

/** Number of open descriptors of this process. */
export function countDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

/** Reads a stream to its end and keeps the last part. */
function keepTail(stream: Readable): () => string {
  let tail = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-KEPT_STDERR_BYTES);
  });
  return () => tail.toString('utf8');
}

function ignore(): void {
  // Most tests ignore progress.
}

async function readAll(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    // It ended in the meantime.
    return 0;
  }
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    // It ended in the meantime.
    return '';
  }
}
