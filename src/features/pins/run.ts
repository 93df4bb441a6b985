/** `servers approve`: shows how tools differ from their accepted definitions, and accepts them. */
import { createTwoFilesPatch } from 'diff';
import { CancelSource } from '../../core/base/cancel.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { escapeControls, renderJson } from '../../core/base/log.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import { isServer } from '../../core/catalog/names.ts';
import { describeChange } from '../../core/catalog/tool-change.ts';
import type { ToolDifference } from '../../core/directory/server-metadata.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import { runWithServers } from '../../edges/terminal/lifecycle.ts';
import type { AcceptCommand } from './command.ts';

/** One changed tool; also the JSON output. */
export interface Acceptance extends ToolDifference {
  readonly server: string;
  readonly isAccepted: boolean;
}

export interface AcceptOptions extends Pick<CommandContext, 'logger' | 'openServers'> {
  readonly writeOut: (text: string) => void;
}

/** Resolves with the exit code. Rejects with `TOOL_UNKNOWN`, or with the error of a server that does not start. */
export async function acceptTools(line: AcceptCommand, options: AcceptOptions): Promise<number> {
  const servers = await options.openServers({
    owner: line.principal,
    failureLevel: 'debug',
    concerns: isServer(line.server),
  });
  return runWithServers(servers, options.logger, async () => {
    const reported = await accept(line, servers);
    const text = line.isJson ? renderJson(reported) : renderAccepted(line.server, reported);
    options.writeOut(text);
    return 0;
  });
}

/** Accepts the tools, or only shows how they differ. */
export async function accept(
  { server: name, tools: words, isDryRun }: AcceptCommand,
  { known, review, callable }: Pick<ConfiguredServers, 'known' | 'review' | 'callable'>,
): Promise<Acceptance[]> {
  const server = await known.find(name);
  const listed = await known.refresh(server, new CancelSource().signal);
  const names = listed.tools.map((tool) => tool.name);
  const wanted = await Promise.all(words.map((word) => exactName(server.name, word, names)));
  const definition = callable().get(server.name) ?? server;
  const all = await review.differences(definition, listed);
  const chosen = all.filter(({ tool }) => wanted.length === 0 || wanted.includes(tool));
  if (!isDryRun && chosen.length > 0) {
    const accepted = chosen.map(({ tool }) => tool);
    await review.accept(definition, listed, accepted);
  }
  return chosen.map((one) => ({ server: server.name, ...one, isAccepted: !isDryRun }));
}

async function exactName(server: string, wanted: string, listed: readonly string[]): Promise<string> {
  if (!listed.includes(wanted)) {
    throw new BridgeError(
      'TOOL_UNKNOWN',
      `server '${server}' has no tool '${wanted}'.${await didYouMean(wanted, listed)}`,
    );
  }
  return wanted;
}

export function renderAccepted(server: string, reported: readonly Acceptance[]): string {
  if (reported.length === 0) {
    return `No tool of '${escapeControls(server)}' differs from its accepted definition.\n`;
  }
  const isAccepted = reported.every((one) => one.isAccepted);
  const count = reported.length === 1 ? '1 tool' : `${reported.length} tools`;
  return `${reported.map(renderOne).join('\n\n')}\n\n${count} ${isAccepted ? 'accepted' : 'not accepted'}.\n`;
}

function renderOne({ tool, change, before, after }: Acceptance): string {
  const all = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after)])];
  const parts = all.filter((part) => change.parts.length === 0 || change.parts.includes(part));
  const patches = parts.map((part) => patchOf(part, before?.[part] ?? '', after[part] ?? ''));
  const missing = before === undefined && change.parts.length > 0 ? ['(the accepted text was not kept)'] : [];
  const lines = [`${tool}: ${describeChange(change)}`, ...missing, ...patches.flatMap((patch) => patch)];
  const cut = change.parts.length > 0 && patches.every((patch) => patch.length === 0);
  return [...lines, ...(cut ? ['(the change is in a part that is too long to show)'] : [])]
    .map(escapeControls)
    .join('\n');
}

/** The lines that differ, as a unified diff without its header; empty if there are none. */
function patchOf(part: string, before: string, after: string): string[] {
  const patch = createTwoFilesPatch(part, part, inLines(before), inLines(after), '', '', { context: 2 });
  const lines = patch.split('\n').filter((line) => !/^(?:=+|Index:.*|\\ No newline.*)$/.test(line));
  return before === after ? [] : lines.filter((line) => line !== '');
}

/** JSON on multiple lines, with sorted keys because their order does not matter; any other text unchanged. */
function inLines(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), withSortedKeys, 2);
  } catch {
    return text;
  }
}

function withSortedKeys(_key: string, value: unknown): unknown {
  return isObject(value) ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) : value;
}
