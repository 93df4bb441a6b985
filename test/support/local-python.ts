/**
 * An engine that exists only in tests: the kernel in the local `python3`, with no isolation and no supervisor.
 * It lets the kernel and the sessions be tested within milliseconds on a machine without container engines.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine, Sandbox, SandboxExit } from '../../src/engines/engine.ts';
import { BridgeError } from '../../src/errors.ts';

/** Whether this machine has a `python3` new enough for the kernel. */
export function hasLocalPython(): boolean {
  const found = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))']);
  return found.status === 0;
}

/** The loader, with the kernel itself in place of the supervisor, which insists on being PID 1. */
function withoutSupervisor(loader: string): string {
  const start = 'import os\nfrom bridge_kernel import __main__\n__main__.run((os.pipe(), os.pipe()))\n';
  const changed = loader.replace(/from bridge_kernel import supervisor[\s\S]*/, start);
  if (changed === loader) {
    throw new Error('the loader starts the supervisor in another way: adapt this replacement');
  }
  return changed;
}

export function createLocalPythonEngine(): Engine {
  return {
    name: 'podman', // The contract names container engines only.
    description: 'local python3, for tests',
    isolation: 'none',
    async prepare() {
      // Nothing to pull.
    },
    async start({ command }): Promise<Sandbox> {
      const [program = 'python3', ...rest] = command;
      const folder = mkdtempSync(join(tmpdir(), 'bridge-local-python-'));
      const child = spawn(program, [...rest.slice(0, -1), withoutSupervisor(rest.at(-1) ?? '')], { cwd: folder });
      child.stdin.on('error', () => undefined); // A child that has ended; `exited` tells.
      const exited = new Promise<SandboxExit>((resolve) => {
        child.once('close', (exitCode, signal) => {
          rmSync(folder, { recursive: true, force: true });
          resolve({ exitCode: exitCode ?? undefined, signal: signal ?? undefined });
        });
      });
      return {
        id: `local-${child.pid}`,
        stdin: child.stdin,
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
