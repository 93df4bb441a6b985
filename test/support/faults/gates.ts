/** The eight gates, which hold for every case of the suite; their numbers stand here and nowhere else. */

export const GATES = {
  G1: 'every call is answered once, at its timeout + 3 s at the latest, with the right result or one structured error',
  G2: 'the memory of the bridge grows by at most 64 MiB, and is within 16 MiB of the start after at most 5 s',
  G3: 'the event loop of the bridge is never held for more than 250 ms; how long 1 turn of 100 takes stands in the table',
  G4: 'the next `print(1)` of the same session works within 3 s, and says so when state was lost',
  G5: 'calls of another session, made all the while, are right and keep their state',
  G6: 'afterwards no sandbox, no process and no file in the folder of the caller is left',
  G7: 'the servers got exactly the calls that the case allows',
  G8: 'no secret of the environment, of a server or of the other session is in an answer, a log, or the memory of the sandbox',
} as const;

export type Gate = keyof typeof GATES;
export const GATE_IDS = Object.keys(GATES) as readonly Gate[];

const MIB = 1024 * 1024;
/** G1: what a call may take beyond its own timeout. */
export const ANSWER_GRACE_MS = 3_000;
/** G2. */
export const MAX_GROWTH_BYTES = 64 * MIB;
export const MAX_KEPT_BYTES = 16 * MIB;
export const SETTLE_MS = 5_000;
/** G3. */
export const MAX_LOOP_DELAY_MS = 250;
/** G4. */
export const NEXT_CALL_MS = 3_000;
/**
 * G1, G4: a machine that has more to do than it has cores gives time later; as much is added as was waited for a core
 * (`/proc/pressure/cpu`), and no more than this. Chosen.
 */
export const MAX_ALLOWANCE_MS = 30_000;
