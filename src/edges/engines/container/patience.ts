/** How long an engine may take to answer before it counts as hanging. */
import { availableParallelism, loadavg } from 'node:os';
import { type Environment, isOverNetwork } from '../client-env.ts';

/** If a sandbox prints nothing for this long, the bridge checks whether the engine answers at all. */
export const SILENCE_MS = 1_000;
/** How long that answer may take. Together with the silence, an engine that hangs is reported within 5 s. */
const ANSWER_TIMEOUT_MS = 3_800;
/** The same over a network: on a busy machine, the handshake of SSH alone takes seconds. Chosen. */
const NETWORK_ANSWER_TIMEOUT_MS = 20_000;
/**
 * From this many waiting or running tasks per core on, an engine that works may need longer. Chosen: rootless podman needed more than
 * 3.8 s while two test suites shared two cores.
 */
const BUSY_LOAD_PER_CORE = 2;
const MAX_FACTOR = 4;

/**
 * In milliseconds. `loadPerCore` is the load average of the last minute for each core; 0 where the system has none (Windows). It also
 * counts tasks that wait for a disk, which is what podman mostly waits for.
 */
export function answerTimeoutMs(env: Environment, loadPerCore: number): number {
  if (isOverNetwork(env)) {
    return NETWORK_ANSWER_TIMEOUT_MS;
  }
  const factor = Math.min(MAX_FACTOR, Math.max(1, loadPerCore / BUSY_LOAD_PER_CORE));
  return Math.round(ANSWER_TIMEOUT_MS * factor);
}

export function currentLoadPerCore(): number {
  const [lastMinute = 0] = loadavg();
  return lastMinute / availableParallelism();
}
