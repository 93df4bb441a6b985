/** Reads the log, and writes the report as text, JSON or a page. */
import { writeFile } from 'node:fs/promises';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { renderJson } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';
import { OWNER_ONLY_FILE } from '../../core/state/state-files.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import { auditDirectory } from '../history/files.ts';
import { AuditReader } from '../history/reader.ts';
import { type ActivityReport, ReportBuilder } from './collect.ts';
import type { ReportCommand } from './command.ts';

export interface ReportOptions extends Pick<CommandContext, 'settings'> {
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
}

const NOTHING_EXIT_CODE = 1;

/** Resolves with 0, or with 1 if there is nothing to report. Rejects with `STATE_WRITE_FAILED` if the page cannot be written. */
export async function runReport(command: ReportCommand, options: ReportOptions): Promise<number> {
  const { html, isJson, sinceMs } = command;
  const { settings, writeError, writeOut } = options;
  const directory = auditDirectory(settings.stateDir);
  const reader = new AuditReader(directory);
  const builder = new ReportBuilder();
  for await (const { record } of reader.read(sinceMs)) {
    builder.add(record);
  }
  const sums = builder.result({ badLines: reader.badLines, sinceMs, untilMs: Date.now() });
  reader.unreadable.forEach((reason) => writeError(`cannot read ${reason}\n`));
  if (settings.audit === 'off') {
    writeError('The audit log is off, so nothing new is recorded: set MCP_BRIDGE_AUDIT to on.\n');
  }
  if (isJson) {
    writeOut(renderJson(sums));
  }
  if (sums.first === null) {
    writeError(`${nothing(directory, sums, settings.audit === 'off')}\n`);
    return NOTHING_EXIT_CODE;
  }
  if (html !== undefined) {
    await writePage(html, sums);
    (isJson ? writeError : writeOut)(`Wrote ${html}.\n`);
  } else if (!isJson) {
    const { renderText } = await import('./text.ts');
    writeOut(renderText(sums));
  }
  return 0;
}

/** Why there is nothing, and what would change that. */
function nothing(directory: string, { bad_lines: bad, since }: ActivityReport, isOff: boolean): string {
  const skipped = bad === 0 ? '' : ` ${counted(bad, 'line')} could not be read.`;
  const next = isOff
    ? ''
    : ' Cells and calls are recorded while a client uses the bridge; `--since` looks further back.';
  return `There are no records in ${directory} since ${since}.${skipped}${next}`;
}

async function writePage(path: string, sums: ActivityReport): Promise<void> {
  const { renderPage } = await import('./page.ts');
  try {
    await writeFile(path, renderPage(sums), { mode: OWNER_ONLY_FILE });
  } catch (error) {
    throw new BridgeError('STATE_WRITE_FAILED', `the page could not be written to ${path}: ${messageOf(error)}`, {
      hint: 'Choose another file with --html.',
      cause: error,
    });
  }
}
