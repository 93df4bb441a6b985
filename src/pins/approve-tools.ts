/** `servers approve`: shows how tools differ from what was accepted of them, and accepts them. */
import { createTwoFilesPatch } from 'diff';
import { CancelSource } from '../base/cancel.ts';
import { BridgeError } from '../base/errors.ts';
import { isObject } from '../base/is-object.ts';
import { escapeControls } from '../base/log.ts';
import { didYouMean } from '../base/suggest.ts';
import type { ConfiguredServers } from '../bridge/configured-servers.ts';
import { describeChange } from '../catalog/tool-change.ts';
import type { ServersCommand } from '../manage-servers/command-line.ts';
import type { ToolDifference } from './pinned-tools.ts';

/** Also the JSON. */
interface Acceptance extends ToolDifference {
  readonly server: string;
  readonly isAccepted: boolean;
}

/** Resolves with the exit code. Rejects with `TOOL_UNKNOWN`, and as starting the server does. */
export async function acceptTools(
  command: ServersCommand,
  { known, pins, callable }: Pick<ConfiguredServers, 'known' | 'pins' | 'callable'>,
  print: (json: unknown, text: () => string) => void,
): Promise<number> {
  const [name = '', ...names] = command.names;
  const server = await known.find(name);
  const listed = await known.refresh(server, new CancelSource().signal);
  const wanted = await Promise.all(
    names.map((word) =>
      exactName(
        server.name,
        word,
        listed.tools.map((tool) => tool.name),
      ),
    ),
  );
  const definition = callable().get(server.name) ?? server;
  const all = await pins.differences(definition, listed);
  const chosen = all.filter(({ tool }) => wanted.length === 0 || wanted.includes(tool));
  if (!command.isDryRun && chosen.length > 0) {
    await pins.accept(
      definition,
      listed,
      chosen.map(({ tool }) => tool),
    );
  }
  const acceptances = chosen.map((one): Acceptance => ({ server: server.name, ...one, isAccepted: !command.isDryRun }));
  print(acceptances, () => render(server.name, acceptances));
  return 0;
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

function render(server: string, acceptances: readonly Acceptance[]): string {
  if (acceptances.length === 0) {
    return `Nothing of '${escapeControls(server)}' differs from what was accepted.\n`;
  }
  const isAccepted = acceptances.every((one) => one.isAccepted);
  const count = acceptances.length === 1 ? '1 tool' : `${acceptances.length} tools`;
  return `${acceptances.map(renderOne).join('\n\n')}\n\n${count} ${isAccepted ? 'accepted' : 'not accepted'}.\n`;
}

function renderOne({ tool, change, before, after }: Acceptance): string {
  const all = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after)])];
  const parts = all.filter((part) => change.parts.length === 0 || change.parts.includes(part));
  const patches = parts.map((part) => patchOf(part, before?.[part] ?? '', after[part] ?? ''));
  const missing = before === undefined && change.parts.length > 0 ? ['(what it was like before was not kept)'] : [];
  const lines = [`${tool}: ${describeChange(change)}`, ...missing, ...patches.flatMap((patch) => patch)];
  const cut = change.parts.length > 0 && patches.every((patch) => patch.length === 0);
  return [...lines, ...(cut ? ['(the difference is in a part that is too long to show)'] : [])]
    .map(escapeControls)
    .join('\n');
}

/** The lines that differ, as a unified diff without its header; none when nothing does. */
function patchOf(part: string, before: string, after: string): string[] {
  const patch = createTwoFilesPatch(part, part, inLines(before), inLines(after), '', '', { context: 2 });
  const lines = patch.split('\n').filter((line) => !/^(?:=+|Index:.*|\\ No newline.*)$/.test(line));
  return before === after ? [] : lines.filter((line) => line !== '');
}

/** JSON on many lines, its keys sorted because their order is no difference; any other text as it is. */
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
