/** `sessions`: lists and ends the sandboxes of all bridges on this machine. */

import { BridgeError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { COMMAND } from '../base/package.ts';
import { findEngines } from '../engines/detect.ts';
import type { Engine, ListedSandbox } from '../engines/engine.ts';
import { engineOptions } from '../settings/engine-options.ts';
import type { Settings } from '../settings/settings.ts';
import type { CommandContext } from '../terminal/command.ts';
import { renderTable } from '../terminal/text-table.ts';

export interface SessionsCommand {
  readonly command: 'sessions';
  readonly action: 'list' | 'kill';
  /** Ids, prefixes of ids, or names of sessions. */
  readonly names: readonly string[];
  readonly isJson: boolean;
}

export interface SessionsOptions extends CommandContext {
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
}

/** One sandbox; also the JSON output. */
interface SandboxReport extends ListedSandbox {
  readonly engine: string;
}

interface Found {
  readonly engine: Engine;
  readonly sandbox: ListedSandbox;
}

const SHORT_ID_CHARS = 12;
const MINUTE_MS = 60_000;

/** Resolves with 0. Rejects with `USAGE_INVALID` if a name matches no sandbox. */
export async function sessions(command: SessionsCommand, options: SessionsOptions): Promise<number> {
  const { logger, settings, writeError, writeOut } = options;
  const found = await findSandboxes(settings, logger, writeError);
  const chosen = command.action === 'list' ? found : command.names.flatMap((name) => choose(found, name));
  const distinct = [...new Set(chosen)];
  if (command.action === 'kill') {
    await Promise.all(distinct.map(async ({ engine, sandbox }) => engine.remove?.(sandbox.id)));
  }
  const reports = distinct.map(({ engine, sandbox }): SandboxReport => ({ engine: engine.name, ...sandbox }));
  const word = command.action === 'kill' ? ['ended'] : [];
  const now = Date.now();
  writeOut(
    command.isJson
      ? `${JSON.stringify(reports, undefined, 2)}\n`
      : renderTable(
          reports.map((report) => [...renderSandbox(report, now), ...word]),
          'There are no sandboxes.',
        ),
  );
  return 0;
}

/** On every engine that can list sandboxes, whatever the settings say. Reports an engine that does not answer. */
async function findSandboxes(settings: Settings, logger: Logger, writeError: (text: string) => void): Promise<Found[]> {
  const { engines } = findEngines({ ...engineOptions(settings, logger), requested: 'container' });
  const lists = engines.map(async (engine) => {
    try {
      return ((await engine.list?.()) ?? []).map((sandbox) => ({ engine, sandbox }));
    } catch (error) {
      writeError(`cannot list the sandboxes on ${engine.name}: ${messageOf(error)}\n`);
      return [];
    }
  });
  return (await Promise.all(lists)).flat();
}

function choose(found: readonly Found[], name: string): Found[] {
  const chosen = found.filter(({ sandbox }) => sandbox.session === name || sandbox.id.startsWith(name));
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
