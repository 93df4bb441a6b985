/** Makes a call for a person on the way of calls of code: the same gates, and the record has it as a cell of a session of its own. */
import { randomUUID } from 'node:crypto';
import { CancelSource } from '../../cancel.ts';
import type { CatalogServer, CatalogTool } from '../../catalog/catalog.ts';
import { Countdown } from '../../countdown.ts';
import { BridgeError } from '../../errors.ts';
import { CellAsker } from '../../session/asker.ts';
import { openAuditTrail } from '../audit-trail.ts';
import { createCallGates } from '../call-gates.ts';
import { DEFAULT_CALL_SECONDS } from '../cli/servers.ts';
import type { ConfiguredServers } from '../configured-servers.ts';
import type { CommandContext } from '../context.ts';
import { createObservedResults } from '../observed-results.ts';
import { createSecretMask } from '../secret-mask.ts';
import { createTerminalPerson, type Terminal } from '../terminal-person.ts';
import { toolMethods } from '../tool-calls.ts';
import { createCallRecord } from './call-record.ts';
import { createTerminalApprovals } from './terminal-approvals.ts';

export interface MakeCallOptions extends Pick<CommandContext, 'settings' | 'logger'> {
  /** Where the person can be asked; undefined when there is no terminal. */
  readonly terminal?: Terminal | undefined;
  readonly writeError: (text: string) => void;
}

export interface WantedCall {
  readonly server: CatalogServer;
  readonly tool: CatalogTool;
  /** Checked. */
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly timeoutSeconds: number | undefined;
}

/** In the record; the command line has no sandbox. */
const SESSION = 'command-line';

/** The untouched `CallToolResult`. Rejects as calls of code do; with `CALL_TIMEOUT` at the end of its time, in which a person who thinks does not count. */
export async function makeCall(
  wanted: WantedCall,
  configured: ConfiguredServers,
  options: MakeCallOptions,
): Promise<unknown> {
  const { server, tool, timeoutSeconds = DEFAULT_CALL_SECONDS } = wanted;
  const { settings, logger, terminal } = options;
  const cancel = new CancelSource();
  let isLate = false;
  const clock = new Countdown(timeoutSeconds * 1_000, () => {
    isLate = true;
    cancel.abort();
  });
  const asker =
    terminal &&
    new CellAsker({ person: createTerminalPerson(terminal), code: '', clock, timeoutMs: settings.approvalTimeoutMs });
  configured.pool.offerElicitation(asker && { form: {} });
  const trail = openAuditTrail(randomUUID(), settings, { mask: createSecretMask(configured.secrets), logger });
  const record = createCallRecord(trail, { session: SESSION, server, tool, timeoutMs: timeoutSeconds * 1_000 });
  const methods = toolMethods({
    directory: configured.known,
    findCallable: async () => server,
    pool: configured.pool,
    observed: createObservedResults(),
    logger,
    ...createCallGates(configured, createTerminalApprovals(settings.stateDir), trail),
  });
  const [, run] = methods.find(([method]) => method === 'call_tool') ?? [];
  try {
    await record.begin();
    const params = { server: server.name, tool: tool.name, arguments: wanted.arguments };
    const result = await run?.(params, { ...record.run, loaded: new Set(), signal: cancel.signal, asker });
    record.end();
    return result;
  } catch (error) {
    const told = isLate ? late(server, tool, timeoutSeconds) : error;
    record.end(told);
    throw told;
  } finally {
    clock.stop();
    asker?.close();
    (await record.close()).forEach((notice) => options.writeError(`${notice}\n`));
  }
}

function late(server: CatalogServer, tool: CatalogTool, timeoutSeconds: number): BridgeError {
  return new BridgeError('CALL_TIMEOUT', `${server.name}.${tool.name} did not answer within ${timeoutSeconds} s`, {
    hint: 'Give it more time: --timeout SECONDS. The call was cancelled; the server may have done a part of it.',
    data: { server: server.name, tool: tool.name },
  });
}
