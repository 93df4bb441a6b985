/** Makes a call for a person on the way of calls of code: the same gates, and the record has it as a cell of a session of its own. */
import { randomUUID } from 'node:crypto';
import { createTerminalApprovals } from '../approvals/terminal-approvals.ts';
import { createCallRecord } from '../audit/call-record.ts';
import { openAuditTrail } from '../audit/trail.ts';
import { CancelSource } from '../base/cancel.ts';
import { Countdown } from '../base/countdown.ts';
import { BridgeError } from '../base/errors.ts';
import { createCallGates } from '../bridge/call-gates.ts';
import type { ConfiguredServers } from '../bridge/configured-servers.ts';
import type { CommandContext } from '../bridge/context.ts';
import { createObservedResults } from '../calls/observed-results.ts';
import { toolMethods } from '../calls/tool-calls.ts';
import type { CatalogServer, CatalogTool } from '../catalog/catalog.ts';
import { createSecretMask } from '../secrets/secret-mask.ts';
import { CellAsker } from '../session/asker.ts';
import { createTerminalPerson, type Terminal } from '../terminal/terminal-person.ts';
import { DEFAULT_CALL_SECONDS } from './command-line.ts';

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
