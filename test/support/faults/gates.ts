/** The eight gates, which apply to every case of the suite. Their limits are defined only here. */
import { PATIENCE } from '../patience.ts';

export const GATES = {
  G1: 'every call is answered once, within its timeout + 3 s, with the right result or one structured error',
  G2: 'the bridge’s memory grows by at most 64 MiB, and within 5 s is back to at most 16 MiB over the start',
  G3: 'the bridge’s event loop is never blocked for more than 250 ms; the report also shows the 99th percentile',
  G4: 'the next `print(1)` in the session works within 3 s, and says so if state was lost',
  G5: 'another session, in use throughout, gets right answers and keeps its state',
  G6: 'afterwards no sandbox, no process and no file in the caller’s folder remains',
  G7: 'the servers got exactly the calls the case allows',
  G8: 'no secret of the environment, a server or the other session appears in an answer, a log or the sandbox’s memory',
} as const;

export type Gate = keyof typeof GATES;
export const GATE_IDS = Object.keys(GATES) as readonly Gate[];

const MIB = 1024 * 1024;
/** G1: how long a call may take beyond its own timeout. */
export const ANSWER_GRACE_MS = 3_000;
/** G2. */
export const MAX_GROWTH_BYTES = 64 * MIB;
export const MAX_KEPT_BYTES = 16 * MIB;
export const SETTLE_MS = 5_000;
/** G3. */
export const MAX_LOOP_DELAY_MS = 250 * PATIENCE;
/** G4. */
export const NEXT_CALL_MS = 3_000;
/**
 * G1, G4: on an overloaded machine everything is slower. The time that tasks waited for a core (`/proc/pressure/cpu`) is added
 * to the limit, but no more than this. Chosen.
 */
export const MAX_ALLOWANCE_MS = 30_000;
