/** Keeps the last failure of each server between runs of the bridge. A failure here never fails a call. */
import { join } from 'node:path';
import { type BridgeError, type ErrorCode, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { LineCache } from '../state/line-cache.ts';
import { holdsSecret } from './metadata-cache.ts';

/** Increase it with every change of `KeptFailure`. */
const FORMAT = 2;
const MAX_FILE_BYTES = 16 * 1024;
/** Only the first line is kept, which says what happened, and nothing that the server wrote to stderr. */
const MAX_MESSAGE_CHARS = 500;

/** Why the last attempt to ask a server failed. */
export interface ServerFailure {
  readonly code: ErrorCode;
  /** One line. */
  readonly message: string;
  readonly hint: string | null;
  /** Time in UTC (ISO 8601). */
  readonly at: string;
}

/** A configured server. Servers with the same hash are the same, whatever their names. */
interface FailedServer {
  readonly name: string;
  readonly definitionHash: string;
}

/** A failure as it is stored, with the name of the server that failed. */
interface KeptFailure extends ServerFailure {
  readonly server: string;
}

/** Failures by the hash of the definition. No method rejects. */
export interface ServerFailures {
  /** Undefined if the server answered last time, or was never asked. */
  load(server: FailedServer): Promise<ServerFailure | undefined>;
  /** Keeps a failure, unless it is the caller's own or contains one of `secrets`. */
  note(server: FailedServer, error: BridgeError, secrets: readonly string[]): Promise<void>;
  forget(definitionHash: string): Promise<void>;
}

/** The failures kept in a state directory. */
export function createServerFailures({ stateDir, logger }: { stateDir: string; logger: Logger }): ServerFailures {
  const directory = join(stateDir, '.cache', 'failures');
  const cache = new LineCache({ directory, format: FORMAT, maxFileBytes: MAX_FILE_BYTES });
  const without = (error: unknown): undefined => {
    logger.debug(`Cannot read or write the last failure of a server in ${directory}: ${messageOf(error)}`);
  };

  return {
    async load({ name, definitionHash }) {
      const [line] = (await cache.load(definitionHash).catch(without)) ?? [];
      // The checksum proves that `note` wrote the line, so it has this shape.
      return line && failureFor(name, JSON.parse(line.toString('utf8')) as KeptFailure);
    },
    async note({ name, definitionHash }, error, secrets) {
      const line = `${JSON.stringify(keptFailure(name, error))}\n`;
      if (isOfServer(error) && !holdsSecret([line], secrets)) {
        await cache.save(definitionHash, [line]).catch(without);
      }
    },
    async forget(definitionHash) {
      await cache.remove(definitionHash).catch(without);
    },
  };
}

/** False for a caller that gave up, and for an error that only repeats the last one because it is too early for a new attempt. */
function isOfServer({ code, data }: BridgeError): boolean {
  return code !== 'CALL_CANCELLED' && data['retry_in_seconds'] === undefined;
}

/** The failure of the server that `name` stands for too. The hint is about the entry that failed, so no other one gets it. */
function failureFor(name: string, { server, ...failure }: KeptFailure): ServerFailure {
  return server === name
    ? failure
    : { ...failure, message: failure.message.replaceAll(`server '${server}'`, () => `server '${name}'`), hint: null };
}

function keptFailure(server: string, { code, message, hint }: BridgeError): KeptFailure {
  // If stderr follows, the first line ends with an announcement of it.
  const [line = ''] = message.replace(/; last lines of its stderr:\n.*/s, '').split('\n');
  return { server, code, message: line.slice(0, MAX_MESSAGE_CHARS), hint: hint ?? null, at: new Date().toISOString() };
}
