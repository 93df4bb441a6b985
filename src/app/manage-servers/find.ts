/** `servers find`: looks for new servers in the registry and the catalogs of the settings. Starts and writes nothing. */
import { ERROR_CODES } from '../../core/base/errors.ts';
import { escapeControls, renderJson } from '../../core/base/log.ts';
import { DeclinedServers } from '../../edges/registries/declined.ts';
import { describeNeeds, describeNewServer, describeSources } from '../../edges/registries/describe.ts';
import { addCommand, showRun } from '../../edges/registries/entry.ts';
import { type Found, type FoundServer, NewServers } from '../../edges/registries/find.ts';
import type { CommandContext, CommandHost, LineFor } from '../../edges/terminal/command.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { FindServersCommand } from './command.ts';

type FindOptions = Pick<CommandContext, 'settings'> & Pick<CommandHost, 'env' | 'writeOut' | 'writeError'>;

/** Resolves with the exit code: that of `SERVER_UNREACHABLE` if nothing could be read. Rejects with `USAGE_INVALID` if there is nothing to search. */
export async function findServers(
  { forget, isJson, limit, words }: LineFor<FindServersCommand, 'find'>,
  { env, settings, writeError, writeOut }: FindOptions,
): Promise<number> {
  if (forget !== undefined) {
    const count = await new DeclinedServers(settings.stateDir).forget(forget);
    const text = `${count === 0 ? 'Nothing was declined of' : 'Code may propose again:'} ${forget}`;
    writeOut(isJson ? renderJson({ forgotten: count }) : `${escapeControls(text)}\n`);
    return 0;
  }
  const found = await new NewServers(settings, env).search(words.join(' '), limit);
  const sources = describeSources(found);
  writeOut(
    isJson ? renderJson({ servers: found.servers.map(describeNewServer), sources: found.sources }) : render(found),
  );
  if (!isJson) {
    sources.forEach((sentence) => writeError(`${escapeControls(sentence)}\n`));
  }
  const isUnknown = found.servers.length === 0 && found.sources.every(({ atMs }) => atMs === undefined);
  return isUnknown ? ERROR_CODES.SERVER_UNREACHABLE.exitCode : 0;
}

function render({ servers }: Found): string {
  const rows = servers.map(rowOf);
  const first = servers.find(({ server }) => server.run !== undefined);
  const table = renderTable(rows.length === 0 ? [] : [HEAD, ...rows], 'No server matches.');
  const notes = servers.flatMap(notesOf).map((note) => `${escapeControls(note)}\n`);
  const next = first === undefined ? '' : `\nTo add one, run: ${addCommand(first.server.name)}\n`;
  return `${table}${notes.join('')}${next}`;
}

const HEAD = ['NAME', 'PUBLISHER', 'VERSION', 'NEEDS', 'RUNS'];

function rowOf({ server }: FoundServer): string[] {
  const { inputs, isDeprecated, name, publisher, run, version } = server;
  const runs = run === undefined ? 'cannot be added, see below' : showRun(run);
  return [name, publisher, version || '-', describeNeeds(inputs) || '-', isDeprecated ? `(deprecated) ${runs}` : runs];
}

function notesOf({ resembles, server }: FoundServer): string[] {
  const { name, refusal } = server;
  return [
    ...(refusal === undefined ? [] : [`${name}: ${refusal}`]),
    ...(resembles === undefined ? [] : [`${name}: its name looks like that of ${resembles}`]),
  ];
}
