/** Finds out whether an engine can run a sandbox, by starting one that ends at once. */
import { type BridgeError, toBridgeError } from '../base/errors.ts';
import type { Engine } from './engine.ts';

/** An engine learns from a failed start (a flag to leave out, a layer) and may want another; there are not many to learn. */
const MAX_ROUNDS = 4;
/**
 * A sandbox that brings a program of its own ends with its input, and by force when it is still starting then: on a slow machine
 * that looked like an engine that does not work.
 */
const STARTED = /"report": ?"started"/;
/** Kept of what a sandbox says, in characters. */
const KEPT_CHARS = 4_096;

/** Why `engine` cannot be used now, or undefined. Pulls nothing and wakes nothing. Never rejects. */
export async function whyUnusable(engine: Engine): Promise<BridgeError | undefined> {
  for (let round = 1; ; round += 1) {
    const error = await tryOnce(engine);
    if (error?.data['retryNow'] !== true || round === MAX_ROUNDS) {
      return error;
    }
  }
}

async function tryOnce(engine: Engine): Promise<BridgeError | undefined> {
  try {
    const sandbox = await engine.start({ command: ['python3', '-I', '-c', 'pass'], session: 'doctor' });
    let stderr = '';
    let hasStarted = false;
    sandbox.stderr.on('data', (chunk: Buffer) => {
      stderr = `${stderr}${chunk.toString('utf8')}`.slice(-KEPT_CHARS);
      if (sandbox.isPreloaded === true && STARTED.test(stderr)) {
        hasStarted = true;
        sandbox.stdin.end();
      }
    });
    sandbox.stdout.resume();
    if (sandbox.isPreloaded !== true) {
      sandbox.stdin.end();
    }
    const exit = await sandbox.exited;
    await sandbox.kill();
    return exit.exitCode === 0 || hasStarted ? undefined : engine.explainStartFailure(sandbox, exit, stderr);
  } catch (error) {
    return toBridgeError(error);
  }
}
