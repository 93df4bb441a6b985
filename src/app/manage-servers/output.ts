/** Where and how the actions of `servers` print. */
import { escapeControls, renderJson } from '../../core/base/log.ts';
import { noServerConfiguredLines } from '../../core/base/no-server.ts';
import type { CommandContext, CommandHost } from '../../edges/terminal/command.ts';
import { type Progress, startProgress } from '../../edges/terminal/progress-line.ts';
import type { ServersCommand } from './command.ts';

/** Prints `json` with `--json`, otherwise the text. */
export type Print = (json: unknown, text: () => string) => void;

export interface Output {
  readonly print: Print;
  readonly writeError: (text: string) => void;
  /** Shows what a slow action is waiting for. Stop it before you print. */
  readonly startProgress: () => Promise<Progress>;
  /** The text to print if no server is configured. */
  readonly noServers: string;
}

export type OutputOptions = Pick<CommandContext, 'settings'> & Pick<CommandHost, 'writeOut' | 'writeError'>;

export function createOutput({ isJson }: ServersCommand, { settings, writeOut, writeError }: OutputOptions): Output {
  return {
    print: (json, text) => writeOut(isJson ? renderJson(json) : text()),
    writeError,
    startProgress: () => startProgress({ isJson, writePlain: (message) => writeError(`${escapeControls(message)}\n`) }),
    noServers: noServerConfiguredLines(settings.stateDir),
  };
}
