/**
 * Makes a call for a person, through the same gates as calls of code, and records what a person does to packages. The audit log shows
 * each as a cell of its own session.
 */
import { randomUUID } from 'node:crypto';
import { CancelSource } from '../../core/base/cancel.ts';
import { NO_OUTPUT } from '../../core/base/cell.ts';
import { Countdown } from '../../core/base/countdown.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { BridgeEvents } from '../../core/calls/events.ts';
import { createObservedResults } from '../../core/calls/observed-results.ts';
import { createCallTool } from '../../core/calls/tool-calls.ts';
import { CellAsker } from '../../core/session/asker.ts';
import type { BegunCell } from '../../core/session/events.ts';
import { type CellOutcome, outcomeOfError } from '../../core/session/run-cell.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import type { CallByPerson, CallerIo, CommandContext, TypedCall } from '../../edges/terminal/command.ts';
import { createTerminalPerson } from '../../edges/terminal/terminal-person.ts';
import { createTerminalApprovals } from '../../features/approvals/index.ts';
import { DryRun } from '../../features/dry-run/index.ts';
import { createCurrentPolicies, createCurrentProfile } from '../../features/policy/index.ts';
import { createSecretMask } from '../../features/secrets/index.ts';
import { createAuditWatcher, openAuditTrail } from '../../record/audit/index.ts';
import { createGatedCalls } from './build-servers.ts';

type PersonOptions = CallerIo & Pick<CommandContext, 'settings' | 'logger'>;

/** Name in the audit log; the command line has no sandbox. */
const SESSION = 'command-line';
const RUN = { session: SESSION, generation: 1, cell: 1 };
const SUCCESS: CellOutcome = { status: 'success', stdout: NO_OUTPUT, stderr: NO_OUTPUT, names: undefined };

/** See `CallByPerson`. */
export async function callByPerson(
  typed: TypedCall,
  servers: ConfiguredServers,
  options: PersonOptions,
): ReturnType<CallByPerson> {
  const { server, tool, timeoutMs } = typed;
  const { settings, logger, terminal } = options;
  const cancel = new CancelSource();
  let isLate = false;
  const clock = new Countdown(timeoutMs, () => {
    isLate = true;
    cancel.abort();
  });
  const asker =
    terminal &&
    new CellAsker({ person: createTerminalPerson(terminal), code: '', clock, timeoutMs: settings.approvalTimeoutMs });
  servers.pool.offerElicitation(asker && { form: {} });
  const mask = createSecretMask(servers.secrets);
  const trail = openAuditTrail(randomUUID(), settings, { mask, logger });
  const events = new BridgeEvents([trail && createAuditWatcher(trail)]);
  const policies = createCurrentPolicies({ stateDir: settings.stateDir, definitions: servers.definitions, logger });
  const dryRun = new DryRun(mask);
  const gated = { ...servers, policies, profile: createCurrentProfile(settings) };
  const calls = createGatedCalls(gated, createTerminalApprovals(settings.stateDir), { trail, dryRun, events });
  const callTool = createCallTool({
    directory: servers.known,
    pool: servers.pool,
    observed: createObservedResults(),
    logger,
    calls,
  });
  try {
    return await asCell(events, typed, () => {
      const context = { ...RUN, call: 1, loaded: new Set<string>(), signal: cancel.signal, asker };
      return callTool({ server, tool, arguments: typed.arguments }, context).catch((error: unknown) => {
        throw isLate ? late(typed) : error;
      });
    });
  } finally {
    clock.stop();
    asker?.close();
    const notices = [...dryRun.takeNotices(SESSION), ...((await trail?.takeNotices(SESSION)) ?? [])];
    await trail?.close();
    notices.forEach((notice) => options.writeError(`${notice}\n`));
  }
}

/** Does the work as a cell whose code is the command, without the values of its arguments. Resolves or rejects as it does. */
async function asCell<Result>(
  { emit }: BridgeEvents,
  { server, timeoutMs, tool }: TypedCall,
  work: () => Promise<Result>,
): Promise<Result> {
  const servers = [server.name];
  const request = { code: `servers call ${server.name} ${tool.name}`, servers, timeoutMs, session: SESSION };
  const cell: BegunCell = { ...RUN, servers, request };
  const startedAt = performance.now();
  const end = (outcome: CellOutcome): void =>
    void emit({ type: 'cell_ended', cell, outcome, durationMs: performance.now() - startedAt });
  try {
    await emit({ type: 'cell_started', cell });
    const result = await work();
    end(SUCCESS);
    return result;
  } catch (error) {
    end(outcomeOfError(error));
    throw error;
  }
}

/** See `CommandContext`. */
export async function recordPackages(
  added: Parameters<CommandContext['recordPackages']>[0],
  { logger, settings }: Pick<CommandContext, 'settings' | 'logger'>,
): Promise<void> {
  // Names, versions and hashes have no secrets.
  const trail = openAuditTrail(randomUUID(), settings, { mask: (text) => text, logger });
  trail?.packagesInstalled(RUN, { ...added, allowedBy: 'command' });
  await trail?.close();
}

function late({ server, tool, timeoutMs }: TypedCall): BridgeError {
  const message = `${server.name}.${tool.name} did not answer within ${timeoutMs / 1_000} s`;
  return new BridgeError('CALL_TIMEOUT', message, {
    hint: 'Give it more time: --timeout SECONDS. The call was cancelled, but the server may have done part of it.',
    data: { server: server.name, tool: tool.name },
  });
}
