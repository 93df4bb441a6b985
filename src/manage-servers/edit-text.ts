/** What the commands that change server files say: as data, and as text for people. Secrets are `***`. */

import { escapeControls, escapeInLines } from '../base/log.ts';
import { COMMAND } from '../base/package.ts';
import { quoteShellWord } from '../base/shell-words.ts';
import type { ServerDefinition } from '../servers/discover.ts';
import { colourChange, renderChange } from '../terminal/file-change.ts';
import { renderTable } from '../terminal/table.ts';
import { createMask } from '../upstream/mask.ts';
import type { EditServersCommand } from './edit-command-line.ts';
import type { EditedServer, EditPlan } from './edit-plan.ts';
import type { Example } from './examples.ts';

export interface ServerPlace {
  readonly name: string;
  readonly file: string;
}

/** Also the JSON. */
export interface EditReport {
  readonly action: EditServersCommand['action'];
  readonly servers: readonly EditedServer[];
  readonly changes: readonly {
    readonly path: string;
    readonly action: 'create' | 'change' | 'remove';
    /** Unified. */
    readonly diff: string;
  }[];
  /** What an example needs to run, in a sentence; null for anything else. */
  readonly needs: string | null;
  /** Named by new entries, and not set here. */
  readonly missingVariables: readonly string[];
  /** Removed servers that another file defines, too: that definition counts now. */
  readonly remaining: readonly ServerPlace[];
  /** The command to run next; null when there is nothing to do. */
  readonly next: string | null;
  readonly isWritten: boolean;
}

export function reportEdit(
  { action, isDryRun }: EditServersCommand,
  { after, before, changes, missingVariables, remaining, servers }: EditPlan & Pick<EditReport, 'remaining'>,
  needs?: string,
): EditReport {
  const masks = [...before, ...after].map(createMask);
  const masked = (text: string): string => masks.reduce((rest, mask) => mask(rest), text);
  return {
    action,
    servers,
    changes: changes.map((change) => {
      const { file, next } = change;
      const kind = next === undefined ? 'remove' : file.text === undefined ? 'create' : 'change';
      return { path: file.path, action: kind, diff: masked(renderChange(change)) };
    }),
    needs: needs === undefined || needs === 'Nothing.' ? null : needs,
    missingVariables,
    remaining,
    next: action === 'add' && !isDryRun ? nextStep(after, servers) : null,
    isWritten: !isDryRun && changes.length > 0,
  };
}

/** A disabled server cannot be tested. */
function nextStep(definitions: readonly ServerDefinition[], servers: readonly EditedServer[]): string | null {
  const startable = servers.filter((server) => definitions.some((one) => one.name === server.name && !one.disabled));
  const names = startable.map(({ name }) => quoteShellWord(name)).join(' ');
  return names === '' ? null : `${COMMAND} servers test ${names}`;
}

/** One line for each server, what is still missing, and the next step; for a dry run the lines that would change. */
export function renderEdit(report: EditReport, hasColours: boolean): string {
  const { changes, isWritten, missingVariables, needs, next, remaining, servers } = report;
  const isDryRun = !isWritten && changes.length > 0;
  const diffs = changes.map(({ diff }) => {
    const shown = escapeInLines(diff.replaceAll('\r\n', '\n'));
    return hasColours ? colourChange(shown) : shown;
  });
  const lines = [
    ...(isDryRun ? ['Nothing was written (--dry-run).'] : servers.map(lineOf)),
    ...remaining.map(({ name, file }) => `There still is a server '${name}', in ${file}.`),
    ...(needs === null ? [] : [`What it needs: ${needs}`]),
    ...(missingVariables.length === 0 ? [] : [missing(missingVariables)]),
    ...(next === null ? [] : [`Next: ${next}`]),
  ];
  return `${isDryRun ? diffs.join('') : ''}${lines.map((line) => `${escapeControls(line)}\n`).join('')}`;
}

function lineOf({ name, file, outcome, kept }: EditedServer): string {
  const stayed = kept.length === 0 ? '' : `; its ${kept.join(' and ')} stayed`;
  switch (outcome) {
    case 'added':
      return `Added server '${name}' to ${file}.`;
    case 'removed':
      return `Removed server '${name}' from ${file}.`;
    case 'unchanged':
      return `Nothing to change for server '${name}' in ${file}.`;
    default:
      return `${outcome === 'replaced' ? 'Replaced' : outcome === 'enabled' ? 'Enabled' : 'Disabled'} server '${name}' in ${file}${stayed}.`;
  }
}

function missing(variables: readonly string[]): string {
  const are = variables.length === 1 ? 'is' : 'are';
  return `${variables.join(', ')} ${are} not set here. Set ${variables.length === 1 ? 'it' : 'them'} where the bridge starts: in the "env" of its entry in your MCP client.`;
}

export function renderExamples(examples: readonly Example[]): string {
  const rows = examples.map(({ name, needs }) => [name, needs]);
  const [first] = examples;
  return `${renderTable([['EXAMPLE', 'WHAT IT NEEDS'], ...rows], '')}\nAdd one: ${COMMAND} servers add --example ${first?.name ?? 'NAME'}\n`;
}
