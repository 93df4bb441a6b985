/** Keeps why servers could not be asked, beside their lists of tools, so that the next run can tell. Nothing that goes wrong here fails a call. */
import { join } from 'node:path';
import { type BridgeError, type ErrorCode, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { LineCache } from '../state/line-cache.ts';
import { holdsSecret } from './metadata-cache.ts';

/** Raise it with every change of the shape of `ServerFailure`. */
const FORMAT = 1;
const MAX_FILE_BYTES = 16 * 1024;
/** The first line says what happened; what the server wrote to stderr is not kept. */
const MAX_MESSAGE_CHARS = 500;

/** Why a server could not be asked when it was asked last. */
export interface ServerFailure {
  readonly code: ErrorCode;
  /** One line. */
  readonly message: string;
  readonly hint: string | null;
  /** When, in UTC (ISO 8601). */
  readonly at: string;
}

/** By the hash of the definition. None of its methods rejects. */
export interface ServerFailures {
  /** Undefined when it answered last time, or was never asked. */
  load(definitionHash: string): Promise<ServerFailure | undefined>;
  /** Keeps it, unless it belongs to the caller alone, or one of `secrets` occurs in it. */
  note(definitionHash: string, error: BridgeError, secrets: readonly string[]): Promise<void>;
  forget(definitionHash: string): Promise<void>;
}

/** The failures kept in a state directory. */
export function createServerFailures({ stateDir, logger }: { stateDir: string; logger: Logger }): ServerFailures {
  const directory = join(stateDir, '.cache', 'failures');
  const cache = new LineCache({ directory, format: FORMAT, maxFileBytes: MAX_FILE_BYTES });
  const without = (error: unknown): undefined => {
    logger.debug(`A failure of a server in ${directory} was not read or written: ${messageOf(error)}`);
  };

  return {
    async load(definitionHash) {
      const [line] = (await cache.load(definitionHash).catch(without)) ?? [];
      // The shape is that of this format: the checksum says that `note` wrote it.
      return line && (JSON.parse(line.toString('utf8')) as ServerFailure);
    },
    async note(definitionHash, error, secrets) {
      const line = `${JSON.stringify(failureOf(error))}\n`;
      if (tellsOfTheServer(error) && !holdsSecret([line], secrets)) {
        await cache.save(definitionHash, [line]).catch(without);
      }
    },
    async forget(definitionHash) {
      await cache.remove(definitionHash).catch(without);
    },
  };
}

/** A caller that gave up says nothing of the server; one that has to wait before the next try is told what was noted before. */
function tellsOfTheServer({ code, data }: BridgeError): boolean {
  return code !== 'CALL_CANCELLED' && data['retry_in_seconds'] === undefined;
}

function failureOf({ code, message, hint }: BridgeError): ServerFailure {
  // Where further lines follow, the first ends by announcing them.
  const [line = ''] = message.replace(/; last lines of its stderr:\n.*/s, '').split('\n');
  return { code, message: line.slice(0, MAX_MESSAGE_CHARS), hint: hint ?? null, at: new Date().toISOString() };
}
