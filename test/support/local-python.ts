/**
 * Engines that exist only in tests: the kernel in the local `python3`, without isolation or supervisor. With them, tests of the
 * kernel and of sessions take milliseconds and need no container engine. One has threads, as in a container; the other has
 * none, like the embedded engine, with pipes in place of its devices.
 */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transform, type Writable } from 'node:stream';
import { BridgeError } from '../../src/core/base/errors.ts';
import type { Engine, Sandbox, SandboxExit } from '../../src/core/session/engine.ts';

/** Whether this machine has a `python3` that is new enough, by default for the kernel. */
export function hasLocalPython(minor = 10): boolean {
  const found = spawnSync('python3', ['-c', `import sys; sys.exit(sys.version_info < (3, ${minor}))`]);
  return found.status === 0;
}

/** Starts the kernel directly, because the supervisor insists on being PID 1. */
const THREADED_START = 'import os\nfrom bridge_kernel import __main__\n__main__.run((os.pipe(), os.pipe()))\n';

/** Pipes at the descriptors of the embedded engine: 3 and 4 to the host, 5 and 6 for what is written to 1 and 2. */
const SINGLE_THREADED_START = `
import fcntl, os
pipes = [0, 1, *os.pipe(), *os.pipe()]
aside = [fcntl.fcntl(pipe, fcntl.F_DUPFD, 20) for pipe in pipes]
for copy, descriptor in zip(aside, (3, 4, 5, 1, 6, 2)):
    os.dup2(copy, descriptor)
os.closerange(7, 20 + len(pipes))
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.closerange(7, 8)
for descriptor in (5, 6):
    os.set_blocking(descriptor, False)
from bridge_kernel import embedded_boot
embedded_boot.prepare(os.getcwd())
embedded_boot.main()
`;

function withStart(loader: string, start: string): string {
  const changed = loader.replace(/from bridge_kernel import supervisor[\s\S]*/, start);
  if (changed === loader) {
    throw new Error('the loader starts the supervisor differently now: adapt this replacement');
  }
  return changed;
}

/** Also sends SIGINT for every interrupt frame, as the child of the embedded engine does. */
function strikingInput(child: ChildProcessWithoutNullStreams): Writable {
  const input = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (chunk.includes('{"type":"interrupt"')) {
        child.kill('SIGINT');
      }
      done(null, chunk);
    },
  });
  input.pipe(child.stdin);
  return input;
}

export function createLocalPythonEngine({ hasThreads = true } = {}): Engine {
  return {
    name: 'podman', // The contract allows only names of real engines.
    description: 'local python3, for tests',
    isolation: 'none',
    async prepare() {
      // Nothing to pull.
    },
    async start({ command }): Promise<Sandbox> {
      const [program = 'python3', ...rest] = command;
      const folder = mkdtempSync(join(tmpdir(), 'bridge-local-python-'));
      const start = hasThreads ? THREADED_START : SINGLE_THREADED_START;
      const child = spawn(program, [...rest.slice(0, -1), withStart(rest.at(-1) ?? '', start)], { cwd: folder });
      child.stdin.on('error', () => undefined); // The child has ended, which `exited` reports.
      const exited = new Promise<SandboxExit>((resolve) => {
        child.once('close', (exitCode, signal) => {
          rmSync(folder, { recursive: true, force: true });
          resolve({ exitCode: exitCode ?? undefined, signal: signal ?? undefined });
        });
      });
      return {
        id: `local-${child.pid}`,
        stdin: hasThreads ? child.stdin : strikingInput(child),
        stdout: child.stdout,
        stderr: child.stderr,
        exited,
        async kill() {
          child.kill('SIGKILL');
          await exited;
        },
      };
    },
    explainStartFailure: (_sandbox, exit, stderr) =>
      new BridgeError('ENGINE_FAILED', `python3 ended with ${exit.exitCode}: ${stderr}`),
    async sweep() {
      return 0;
    },
  };
}
