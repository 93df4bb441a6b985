/** Records a call that a person makes as a cell whose code is the command, without the values of its arguments. */

import { NO_OUTPUT } from '../base/cell.ts';
import { reportError, toBridgeError } from '../base/errors.ts';
import type { CatalogServer, CatalogTool } from '../catalog/known.ts';
import type { AuditTrail } from './trail.ts';

interface RecordedCall {
  readonly session: string;
  readonly server: CatalogServer;
  readonly tool: CatalogTool;
  readonly timeoutMs: number;
}

/** One call from start to end. Does nothing if the audit log is off. */
export interface CallRecord {
  /** The numbers that identify the call. */
  readonly run: { readonly session: string; readonly generation: number; readonly cell: number; readonly call: number };
  /** Rejects with `AUDIT_UNAVAILABLE` if a record is required and cannot be written; the call must then not be made. */
  begin(): Promise<void>;
  end(error?: unknown): void;
  /** Resolves with notices for the person once the record is written. */
  close(): Promise<readonly string[]>;
}

export function createCallRecord(
  trail: AuditTrail | undefined,
  { session, server, tool, timeoutMs }: RecordedCall,
): CallRecord {
  const cell = { session, generation: 1, cell: 1 };
  const servers = [server.name];
  const startedAt = performance.now();
  let hasBegun = false;

  return {
    run: { ...cell, call: 1 },
    async begin() {
      const code = `servers call ${server.name} ${tool.name}`;
      await trail?.cellStarted(cell, { code, servers, timeoutMs, session }, servers);
      hasBegun = true;
    },
    end(error) {
      if (!hasBegun) {
        return; // The trail has already recorded that the call was not made.
      }
      const report = error === undefined ? undefined : reportError(toBridgeError(error));
      const outcome = {
        status: report === undefined ? 'success' : 'error',
        stdout: NO_OUTPUT,
        stderr: NO_OUTPUT,
      } as const;
      trail?.cellEnded(cell, { ...outcome, error: report, names: undefined }, performance.now() - startedAt);
    },
    async close() {
      const notices = (await trail?.takeNotices(session)) ?? [];
      await trail?.close();
      return notices;
    },
  };
}
