/** Finds out whether an engine can run a sandbox, by starting one that ends at once. */
import { type BridgeError, toBridgeError } from '../errors.ts';
import type { Engine } from './engine.ts';

/** An engine learns from a failed start (a flag to leave out, a layer) and may want another; there are not many to learn. */
const MAX_ROUNDS = 4;
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
    sandbox.stderr.on('data', (chunk: Buffer) => {
      stderr = `${stderr}${chunk.toString('utf8')}`.slice(-KEPT_CHARS);
    });
    sandbox.stdout.resume();
    // A sandbox that brings a program of its own ends with its input.
    sandbox.stdin.end();
    const exit = await sandbox.exited;
    await sandbox.kill();
    return exit.exitCode === 0 ? undefined : engine.explainStartFailure(sandbox, exit, stderr);
  } catch (error) {
    return toBridgeError(error);
  }
}
