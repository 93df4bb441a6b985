/**
 * Asks a user to log in before a cell that needs it, if the client can open pages (MCP: URL elicitation). Otherwise the call fails, and its
 * error has the link.
 */
import { CancelSource, unlessAborted } from '../../core/base/cancel.ts';
import type { CellRequest } from '../../core/base/cell.ts';
import { Countdown } from '../../core/base/countdown.ts';
import { messageOf, toBridgeError } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import { resolveName } from '../../core/catalog/names.ts';
import { oneLine } from '../../core/catalog/visible.ts';
import { CellAsker } from '../../core/session/asker.ts';
import type { LoginInvitations } from '../../edges/terminal/command.ts';
import type { BridgeServers } from './build-servers.ts';

/** Sessions that were asked and are remembered; clients choose their names. Chosen. */
const MAX_REMEMBERED = 10_000;

interface LoginQuestionOptions {
  readonly servers: Pick<BridgeServers, 'definitions' | 'pool' | 'refresh'>;
  readonly invitations: LoginInvitations;
  /** How long the person may take. */
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/** Never rejects: a cell without a login runs, and its calls fail. Asks once for each server of a session. */
export function createLoginQuestions({ servers, invitations, timeoutMs, logger }: LoginQuestionOptions) {
  const asked = new Set<string>();

  /** The link, if a login is what the server needs. It is started anyway, because the cell loads it. */
  async function linkFor(server: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      await servers.pool.describe(server, { signal });
      return undefined;
    } catch (error) {
      const { login_url: link } = toBridgeError(error).data;
      return typeof link === 'string' ? link : undefined;
    }
  }

  async function ask(server: string, { code, person, signal }: CellRequest): Promise<void> {
    const cancel = signal ?? new AbortController().signal;
    const link = person && (await linkFor(server, cancel));
    if (person === undefined || link === undefined) {
      return;
    }
    const late = new CancelSource();
    const clock = new Countdown(timeoutMs, () => late.abort());
    const asker = new CellAsker({ person, code, clock, timeoutMs });
    try {
      const message = `Server '${oneLine(server, 100)}' needs you to log in. The page is one of this bridge, and leads to the login.`;
      const { action } = await asker.ask({ mode: 'url', message, url: link }, cancel);
      if (action === 'accept') {
        await unlessAborted(unlessAborted(invitations.ended(link), cancel), late);
      }
    } catch (error) {
      logger.info(`A login at server '${server}' was not made: ${messageOf(error)}`);
    } finally {
      asker.close();
      clock.stop();
    }
  }

  return async (request: CellRequest): Promise<void> => {
    if (request.person?.opensPages !== true || request.servers.length === 0) {
      return;
    }
    const references = servers.refresh();
    for (const wanted of request.servers) {
      const name = resolveName(references, wanted)?.name ?? wanted;
      const definition = servers.definitions().get(name);
      const key = JSON.stringify([request.session, name]);
      if (definition?.url !== undefined && definition.owner !== undefined && !asked.has(key)) {
        remember(asked, key);
        // biome-ignore lint/performance/noAwaitInLoops: a person answers one question after the other.
        await ask(name, request);
      }
    }
  };
}

function remember(asked: Set<string>, key: string): void {
  if (asked.size >= MAX_REMEMBERED) {
    asked.clear();
  }
  asked.add(key);
}
