/** `servers call`: parses the arguments, calls one tool for a person, and prints the answer. */

import { text as readAll } from 'node:stream/consumers';
import { CancelSource } from '../../core/base/cancel.ts';
import { ERROR_CODES } from '../../core/base/errors.ts';
import type { CatalogServer, CatalogTool } from '../../core/catalog/known.ts';
import { namedAtShell } from '../../core/directory/directory-errors.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import { checkToolArguments } from '../../edges/terminal/argument-check.ts';
import { readJsonArguments, readPairs, typeArguments } from '../../edges/terminal/call-arguments.ts';
import type { CallerIo, CommandContext, LineFor } from '../../edges/terminal/command.ts';
import { readResult, type ShowOptions, showResult } from './call-result.ts';
import type { ServersCommand } from './command.ts';

export interface CallOptions
  extends CallerIo,
    Pick<CommandContext, 'callByPerson'>,
    Omit<ShowOptions, 'file' | 'json'> {
  readonly input: NodeJS.ReadableStream;
}

/** Resolves with the exit code: that of `TOOL_FAILED` if the tool reports a failure. Rejects with the errors of a call from code. */
export async function call(
  command: LineFor<ServersCommand, 'call'>,
  configured: ConfiguredServers,
  options: CallOptions,
): Promise<number> {
  const pairs = await readPairs(command.words);
  const json = command.json === '-' ? await readAll(options.input) : command.json;
  const server = await configured.known.find(command.server);
  const tool = await findTool(configured, server, command.tool);
  const typed = [...(json === undefined ? [] : readJsonArguments(json)), ...typeArguments(pairs, tool.inputSchema)];
  const checked = await checkToolArguments(server, tool, typed);
  const timeoutMs = command.timeoutSeconds * 1_000;
  const result = await options.callByPerson({ server, tool, arguments: checked, timeoutMs }, configured, options);
  const read = readResult(result);
  const how = { ...options, file: command.output, json: command.isJson ? stringifyExact(result) : undefined };
  await showResult(`${server.name}.${tool.name}`, read, how);
  return read.isError ? ERROR_CODES.TOOL_FAILED.exitCode : 0;
}

/** Rejects with `TOOL_UNKNOWN` and similar names. Finds denied tools too, so that the policy can refuse the call with its reason. */
function findTool({ known }: ConfiguredServers, server: CatalogServer, wanted: string): Promise<CatalogTool> {
  const found = async (): Promise<CatalogTool> => known.findToolToCall(server, wanted, new CancelSource().signal);
  return namedAtShell(known, server, wanted, found());
}
