/** `sessions`: lists and ends the sandboxes of all bridges on this machine. */

import { BridgeError, ERROR_CODES, messageOf } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import { renderJson } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { counted } from '../../core/base/units.ts';
import type { Engine, ListedSandbox } from '../../core/session/engine.ts';
import { findEngines } from '../../edges/engines/detect.ts';
import { engineOptions } from '../../edges/settings/engine-options.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { SessionsCommand } from './command.ts';
import { reportOf, type SavedSession, savedSessions } from './saved.ts';

export interface SessionsOptions extends CommandContext {
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
}

/** One sandbox; also the JSON output. */
interface SandboxReport extends ListedSandbox {
  readonly kind: 'sandbox';
  readonly engine: string;
}

interface Found {
  readonly engine: Engine;
  readonly sandbox: ListedSandbox;
}

const SHORT_ID_CHARS = 12;
const MINUTE_MS = 60_000;

interface Listed {
  readonly found: readonly Found[];
  /** The engines that listed their sandboxes, and those that did not answer. */
  readonly answered: readonly Engine[];
  readonly unanswered: readonly Engine[];
}

/**
 * Resolves with the exit code: that of `ENGINE_UNAVAILABLE` if the list says nothing about the engine of the settings. Rejects
 * with that error, or `USAGE_INVALID`, if a name matches no sandbox.
 */
export async function sessions(command: SessionsCommand, options: SessionsOptions): Promise<number> {
  const { logger, settings, writeError, writeOut } = options;
  const listed = await listSandboxes(settings, logger, writeError);
  const silent = silentEngines(listed, settings);
  const chosen =
    command.action === 'list' ? listed.found : command.names.flatMap((name) => choose(listed, name, silent));
  const distinct = [...new Set(chosen)];
  if (command.action === 'kill') {
    await Promise.all(distinct.map(async ({ engine, sandbox }) => engine.remove?.(sandbox.id)));
  }
  const reports = distinct.map(
    ({ engine, sandbox }): SandboxReport => ({
      kind: 'sandbox',
      engine: engine.name,
      ...sandbox,
    }),
  );
  const saved = command.action === 'list' ? (await savedSessions(settings.stateDir, logger)).map(reportOf) : [];
  const word = command.action === 'kill' ? ['ended'] : [];
  const now = Date.now();
  if (command.isJson) {
    const all = [...reports, ...saved.map((session) => ({ kind: 'saved', ...session }))];
    writeOut(renderJson(all));
  } else if (listed.answered.length > 0 || listed.unanswered.length === 0) {
    const rows = reports.map((report) => [...renderSandbox(report, now), ...word]);
    writeOut(renderTable(rows, describeNone(listed)));
  }
  if (!command.isJson && saved.length > 0) {
    writeOut(`\nSaved sessions:\n${renderTable(saved.map(renderSaved), '')}`);
  }
  return command.action === 'list' && silent.length > 0 ? ERROR_CODES.ENGINE_UNAVAILABLE.exitCode : 0;
}

function renderSaved({ bytes, client, folder, heldBy, savedAt, session, variables }: SavedSession): string[] {
  const holder = heldBy === null ? '' : `in use by bridge ${heldBy}`;
  return [session, client, folder, savedAt, counted(variables, 'variable'), counted(bytes, 'byte'), holder];
}

function describeNone({ answered, unanswered }: Listed): string {
  return unanswered.length === 0
    ? 'There are no sandboxes.'
    : `There are no sandboxes on ${answered.map(({ name }) => name).join(' or ')}.`;
}

/** The engines of the settings, if none of them answered. */
function silentEngines({ answered, unanswered }: Listed, { runtime }: Settings): readonly Engine[] {
  const named = unanswered.filter(({ name }) => name === runtime);
  return answered.length === 0 ? unanswered : named;
}

/** On every engine that can list sandboxes, whatever the settings say. Reports an engine that does not answer. */
async function listSandboxes(settings: Settings, logger: Logger, writeError: (text: string) => void): Promise<Listed> {
  const { engines } = findEngines({ ...engineOptions(settings, logger), requested: 'container' });
  const unanswered: Engine[] = [];
  const lists = engines.map(async (engine) => {
    try {
      return ((await engine.list?.()) ?? []).map((sandbox) => ({ engine, sandbox }));
    } catch (error) {
      writeError(`cannot list the sandboxes on ${engine.name}: ${messageOf(error)}\n`);
      unanswered.push(engine);
      return [];
    }
  });
  const found = (await Promise.all(lists)).flat();
  return { found, unanswered, answered: engines.filter((engine) => !unanswered.includes(engine)) };
}

function choose({ found }: Listed, name: string, silent: readonly Engine[]): Found[] {
  const chosen = found.filter(({ sandbox }) => sandbox.session === name || sandbox.id.startsWith(name));
  if (name !== '' && chosen.length === 0 && silent.length > 0) {
    const engines = silent.map((engine) => engine.name).join(' and ');
    throw new BridgeError(
      'ENGINE_UNAVAILABLE',
      `${engines} did not answer, so it is unknown whether there is a sandbox with the id or session '${name}'`,
      { hint: `Run: ${COMMAND} doctor` },
    );
  }
  if (name === '' || chosen.length === 0) {
    throw new BridgeError('USAGE_INVALID', `there is no sandbox with the id or session '${name}'`, {
      hint: `Run: ${COMMAND} sessions list`,
    });
  }
  return chosen;
}

function renderSandbox(
  { bridgePid, createdAt, engine, id, isLeftover, isRunning, session }: SandboxReport,
  now: number,
) {
  const minutes = Math.floor((now - createdAt.getTime()) / MINUTE_MS);
  const owner = isLeftover ? `bridge ${bridgePid} is gone` : `bridge ${bridgePid}`;
  return [id.slice(0, SHORT_ID_CHARS), session, engine, owner, isRunning ? 'running' : 'stopped', `${minutes} min`];
}
