/** The audit log and the recording of a bridge, as the settings say. */

import type { CellAnswer } from '../../core/base/cell.ts';
import { type MaybePromise, useWhenThere } from '../../core/base/maybe-promise.ts';
import type { Watcher } from '../../core/calls/events.ts';
import { claimSession } from '../../core/session/session-claim.ts';
import type { AnsweredCall } from '../../edges/terminal/command.ts';
import { createSecretMask } from '../../features/secrets/index.ts';
import { type AuditTrail, createAuditWatcher, openAuditTrail, withAuditNotices } from '../../record/audit/index.ts';
import { answeredCalls, openRun, Recording, type ResumableRun, RunAnswers } from '../../record/recordings/index.ts';
import type { Basis } from './basis.ts';
import type { ServersToCall } from './replayed-servers.ts';

export interface Records {
  /** Replaces known secrets. */
  readonly mask: ReturnType<typeof createSecretMask>;
  /** Undefined if the audit log is off. */
  readonly trail: AuditTrail | undefined;
  /** Answers of an interrupted run that goes on. */
  readonly resume: RunAnswers | undefined;
  /** The calls that the run has recorded. */
  readonly answered: readonly AnsweredCall[];
  readonly watches: readonly (Watcher | undefined)[];
  /** The answer of a cell, with notices about its records. */
  withNotices(answer: CellAnswer): MaybePromise<CellAnswer>;
  close(): Promise<void>;
}

/** Rejects with `USAGE_INVALID` if the run to resume cannot go on. */
export async function openRecords(basis: Basis, { known, secrets }: ServersToCall): Promise<Records> {
  const { instanceId, logger, options, settings } = basis;
  const { client, listedTools, principal, resume: path } = options;
  const run = path === undefined ? undefined : await openRun(path, claimSession);
  const mask = createSecretMask(secrets);
  const trail = openAuditTrail(instanceId, settings, {
    mask,
    logger,
    client,
    principal: principal?.name,
    maxAnswerChars: client === undefined ? undefined : settings.maxOutputChars,
  });
  const recording = openRecording(basis, { known, mask, run });
  const resume = run && new RunAnswers(run, mask);
  return {
    mask,
    trail,
    resume,
    answered: run === undefined ? [] : answeredCalls(run.recorded),
    watches: [trail && createAuditWatcher(trail, (server) => known.metadata(server)?.tools), recording?.watch],
    withNotices(answer) {
      if (listedTools !== undefined) {
        trail?.definitionsUsed(answer.session, undefined, listedTools);
      }
      return useWhenThere(withAuditNotices(trail, answer), (audited) => {
        const recorded = recording?.withNotice(audited) ?? audited;
        return resume?.withNotice(recorded) ?? recorded;
      });
    },
    async close() {
      await Promise.all([trail?.close(), recording?.close()]);
      await run?.release();
    },
  };
}

interface RecordingParts extends Pick<Records, 'mask'>, Pick<ServersToCall, 'known'> {
  readonly run: ResumableRun | undefined;
}

/** Undefined if nothing is recorded. A replay is not. */
function openRecording(
  { instanceId, logger, options, settings }: Basis,
  { known, mask, run }: RecordingParts,
): Recording | undefined {
  if (options.replay !== undefined || (settings.record === undefined && run === undefined)) {
    return undefined;
  }
  const servers = () =>
    known.servers().map((server) => ({
      server,
      cwd: known.workingDirectory(server),
      metadata: known.metadata(server),
    }));
  return new Recording({ folder: settings.record ?? '', instanceId, mask, servers, logger, run });
}
