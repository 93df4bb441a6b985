/** Tests an engine by starting a sandbox in which nothing runs. */
import { BridgeError, toBridgeError } from '../../core/base/errors.ts';
import type { Engine, PrepareProgress } from '../../core/session/engine.ts';

/** An engine learns from a failed start (a flag to omit, a layer that fails) and may ask for another attempt. */
const MAX_ATTEMPTS = 4;
/** As for sessions: each engine may have to be prepared, too. */
const MAX_ROUNDS = 8;
/**
 * Printed when a preloaded program runs. Its input is closed only then. If it were closed at once, the sandbox would be killed on a
 * slow machine while still starting, which looks like an engine that does not work.
 */
const STARTED = /"report": ?"started"/;
/** Characters of stderr that are kept. */
const KEPT_CHARS = 4_096;

/**
 * Finds out which engine runs sessions, before there is one: starts a sandbox like theirs, and pulls the image if need be. From then
 * on nothing changes to a weaker engine. Rejects as the start of a session does.
 */
export async function settleEngine(
  engine: Engine,
  onProgress: (progress: PrepareProgress) => void = () => undefined,
): Promise<void> {
  for (let round = 1; ; round += 1) {
    await engine.prepare(onProgress).catch(advising(engine));
    const error = await tryOnce(engine);
    if (error === undefined) {
      return;
    }
    if (error.data['retryNow'] !== true || round === MAX_ROUNDS) {
      return advising(engine)(error);
    }
  }
}

/** Rejects with the error, and with the other engine that works if there is one. */
function advising(engine: Engine): (error: unknown) => Promise<never> {
  return async (error) => {
    throw error instanceof BridgeError ? ((await engine.advise?.(error)) ?? error) : error;
  };
}

/** Why `engine` cannot run a sandbox now; undefined if it can. Does not pull an image or start a machine. Never rejects. */
export async function whyUnusable(engine: Engine): Promise<BridgeError | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const error = await tryOnce(engine);
    if (error?.data['retryNow'] !== true || attempt === MAX_ATTEMPTS) {
      return error;
    }
  }
}

async function tryOnce(engine: Engine): Promise<BridgeError | undefined> {
  try {
    const sandbox = await engine.start({ command: ['python3', '-I', '-c', 'pass'], session: 'probe' });
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
    if (exit.exitCode !== 0 && !hasStarted) {
      return engine.explainStartFailure(sandbox, exit, stderr);
    }
    engine.noteReady?.(sandbox);
    return undefined;
  } catch (error) {
    return toBridgeError(error);
  }
}
