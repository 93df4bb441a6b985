/** `import`: prints what was taken over and what was not. */

import { ERROR_CODES } from '../../core/base/errors.ts';
import { renderJson } from '../../core/base/log.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { ImportCommand } from './command.ts';
import type { ImportedPart } from './isolator-config.ts';
import { importIsolatorConfig } from './isolator-import.ts';

export interface RunImportOptions extends Pick<CommandContext, 'settings'> {
  readonly writeOut: (text: string) => void;
}

const OUTCOMES: Readonly<Record<ImportedPart['outcome'], string>> = {
  imported: 'taken over',
  unchanged: 'unchanged',
  kept: 'NOT taken over',
  'left out': 'left out',
  invalid: 'NOT taken over',
};

/** Resolves with 0, or with the exit code of `CONFIG_INVALID` if a language or snippet was not taken over. */
export async function runImport(command: ImportCommand, { settings, writeOut }: RunImportOptions): Promise<number> {
  const { file, isDryRun, isForced, isJson } = command;
  const parts = await importIsolatorConfig({ file, stateDir: settings.stateDir, isDryRun, isForced });
  if (isJson) {
    writeOut(renderJson({ dry_run: isDryRun, parts }));
  } else {
    const rows = parts.map(({ detail, outcome, part }) => [OUTCOMES[outcome], part, detail]);
    writeOut(renderTable(rows, 'There is nothing to take over.'));
    writeOut(isDryRun ? 'Nothing was changed: this was a dry run.\n' : '');
  }
  const isComplete = parts.every(({ outcome }) => outcome !== 'kept' && outcome !== 'invalid');
  return isComplete ? 0 : ERROR_CODES.CONFIG_INVALID.exitCode;
}
