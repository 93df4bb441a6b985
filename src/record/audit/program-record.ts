/** Records a program: what ran, for whom, and how it ended. */
import { toBridgeError } from '../../core/base/errors.ts';
import type { ProgramRequest, ProgramResult } from '../../core/base/program.ts';
import type { CellIdentity } from '../../core/session/events.ts';
import { type AuditTrail, type EndedProgram, PROGRAMS } from './trail.ts';

/** Called once the code is known, before it runs. */
export type NoteSource = (found: { readonly language: string; readonly code: string }) => void;

/**
 * Does `work`, which runs the program, and records it. Rejects as `work` does, and with `AUDIT_UNAVAILABLE` if a record is required
 * and there is no room for one; the program then does not run.
 *
 * @param run the cell that asked for it; undefined if a client did.
 */
export async function recordProgram(
  trail: AuditTrail,
  run: CellIdentity | undefined,
  { source }: Pick<ProgramRequest, 'source'>,
  work: (noteSource: NoteSource) => Promise<ProgramResult>,
): Promise<ProgramResult> {
  const asked = source.kind === 'snippet' ? { snippet: source.name } : { language: source.language, code: source.code };
  if (run === undefined) {
    await trail.programStarts(asked);
  }
  const room = trail.keepRoom(run?.session ?? PROGRAMS);
  await room;
  const startedAt = Date.now();
  const beganAt = performance.now();
  let found: { readonly language: string; readonly code: string } | undefined;
  const record = (end: Pick<EndedProgram, 'status' | 'errorCode' | 'exitCode' | 'stdoutBytes' | 'stderrBytes'>): void =>
    trail.programEnded(
      run,
      {
        ...found,
        snippet: source.kind === 'snippet' ? source.name : undefined,
        startedAt,
        durationMs: performance.now() - beganAt,
        ...end,
      },
      room !== undefined,
    );
  try {
    const result = await work((known) => {
      found = known;
    });
    const { exitCode, status, stderr, stdout } = result;
    record({ status, exitCode, stdoutBytes: Buffer.byteLength(stdout), stderrBytes: Buffer.byteLength(stderr) });
    return result;
  } catch (error) {
    record({ status: 'refused', errorCode: toBridgeError(error).code });
    throw error;
  }
}
