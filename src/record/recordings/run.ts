/** `record show`: prints a recording for people. Starts and changes nothing. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { escapeControls, escapeInJson } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import type { RecordCommand } from './command.ts';
import { type LineOfType, SUFFIX } from './format.ts';
import { type ReplayedCell, readRecording } from './replay.ts';

interface RecordOptions extends Pick<CommandContext, 'settings'> {
  readonly writeOut: (text: string) => void;
}

/** Values are cut to this length; `--json` has all of them. */
const MAX_SHOWN_CHARS = 300;

/** Resolves with 0. Rejects with `USAGE_INVALID` if there is no recording. */
export async function showRecording(
  { path, isJson }: RecordCommand,
  { settings, writeOut }: RecordOptions,
): Promise<number> {
  const file = path ?? (await newest(settings.record));
  const { cells, head, jobCalls } = await readRecording(file);
  if (isJson) {
    cells.forEach((cell) => writeOut(`${escapeInJson(stringifyExact(cell))}\n`));
    jobCalls.forEach((call) => writeOut(`${escapeInJson(stringifyExact(call))}\n`));
    return 0;
  }
  writeOut(
    `${escapeControls(file)}: ${counted(cells.length, 'cell')}, recorded from ${head.at} by version ${head.bridge}\n`,
  );
  cells.forEach((cell) => writeOut(renderRecordedCell(cell)));
  if (jobCalls.length > 0) {
    writeOut('\nBackground jobs:\n');
    jobCalls.forEach((call) => writeOut(`${escapeControls(describeCallLine(call))}\n`));
  }
  return 0;
}

async function newest(folder: string | undefined): Promise<string> {
  if (folder === undefined) {
    throw new BridgeError('USAGE_INVALID', 'no recording is named, and MCP_BRIDGE_RECORD is not set', {
      hint: 'Name a file, or set MCP_BRIDGE_RECORD to the folder with the recordings.',
    });
  }
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    throw new BridgeError('USAGE_INVALID', `cannot read the folder of MCP_BRIDGE_RECORD: ${messageOf(error)}`, {
      hint: 'The bridge creates it with the first cell that it records.',
    });
  }
  // Their names begin with the time.
  const last = names
    .filter((name) => name.endsWith(SUFFIX))
    .toSorted()
    .at(-1);
  if (last === undefined) {
    throw new BridgeError('USAGE_INVALID', `there are no recordings in ${folder}`, {
      hint: 'Run a cell with MCP_BRIDGE_RECORD set.',
    });
  }
  return join(folder, last);
}

function renderRecordedCell({ cell, calls, ended }: ReplayedCell): string {
  const outcome = ended === undefined ? 'no end recorded' : `${ended.status}, ${ended.duration_ms} ms`;
  const servers = cell.servers.length === 0 ? '' : `, servers ${cell.servers.join(', ')}`;
  const output = ended === undefined ? [] : [ended.stdout, ended.value ?? '', ended.error ?? ''];
  const lines = [
    '',
    `${cell.at}  cell ${cell.session}/${cell.generation}/${cell.cell}: ${outcome}${servers}`,
    ...indented('  | ', cell.code),
    ...calls.map(describeCallLine),
    ...output.filter((text) => text !== '').flatMap((text) => indented('  > ', shortened(text))),
  ];
  return lines.map((line) => `${escapeControls(line)}\n`).join('');
}

function describeCallLine(call: LineOfType<'call'>): string {
  return `  call ${call.number}: ${renderRecordedCall(call)}`;
}

function renderRecordedCall(call: LineOfType<'call'>): string {
  const given = Object.entries(call.arguments).map(([name, value]) => `${name}=${stringifyExact(value)}`);
  const job = call.job === undefined ? '' : `, job ${call.job}`;
  return `${call.server}.${call.tool}(${shortened(given.join(', '))}) → ${resultOf(call)} (${call.duration_ms} ms${job})`;
}

function resultOf({ error, left_out_bytes: leftOut, result }: LineOfType<'call'>): string {
  if (error !== undefined) {
    return `${error.code}: ${shortened(error.message)}`;
  }
  return leftOut === undefined
    ? shortened(stringifyExact(result ?? null))
    : `${counted(leftOut, 'byte')}, not recorded`;
}

function shortened(text: string): string {
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text;
}

function indented(mark: string, text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => mark + line);
}
