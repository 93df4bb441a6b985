/** How a tool differs from its accepted definition, as data and as text. Pure. */

import { COMMAND } from '../../core/base/package.ts';
import { quoteShellWord } from '../../core/base/shell-words.ts';
import type { KnownTool, ToolChange } from '../../core/catalog/known.ts';
import type { ShownTexts } from '../../core/directory/server-metadata.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import { changedParts } from '../../edges/upstream/fingerprint.ts';
import type { PinnedTool } from './tool-pins.ts';

/** Longer definitions are not kept for display. Chosen: the largest of 1,084 real tools fits. */
const MAX_SHOWN_CHARS = 256 * 1024;
/** Changed tools of one server that are named individually. */
const MAX_NAMED = 5;
const DATE_CHARS = '2026-11-21'.length;

/** A server, and the principal whose it is, if it is not shared. */
export interface PinnedServer {
  readonly name: string;
  readonly owner: string | undefined;
}

/** The command that reviews and accepts a change. */
export function hintToAccept({ name, owner }: PinnedServer, tool?: string): string {
  const words = [name, ...(tool === undefined ? [] : [tool])].map((word) => quoteShellWord(word)).join(' ');
  const whose = owner === undefined ? '' : ` --for ${quoteShellWord(owner)}`;
  const who = owner === undefined ? 'the user' : 'the operator';
  return `To review and accept it, ${who} can run: ${COMMAND} servers approve ${words}${whose}`;
}

/** Undefined for a tool that has its accepted definition. */
export function changeOf(
  tool: KnownTool,
  accepted: ReadonlyMap<string, PinnedTool>,
  isRefused: boolean,
): ToolChange | undefined {
  const pinned = accepted.get(tool.name);
  if (pinned === undefined) {
    return { parts: [], since: '', isRefused };
  }
  const parts = changedParts(pinned.fingerprint, tool.fingerprint ?? '');
  return parts.length === 0 ? undefined : { parts, since: pinned.since.slice(0, DATE_CHARS), isRefused };
}

/** The parts of a tool's definition as text. */
export function shownOf(tool: KnownTool): ShownTexts {
  const { title = '', description, inputSchema, outputSchema, annotations } = tool;
  const json = (value: unknown): string => (value === undefined ? '' : stringifyExact(value));
  const texts = {
    title,
    description,
    'input schema': json(inputSchema),
    'output schema': json(outputSchema),
    annotations: json(annotations),
  };
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
}

/** Whether the texts of a tool may be saved: they are short enough and contain no secret. */
export function mayBeKept(shown: ShownTexts, secrets: readonly string[]): boolean {
  const isShort = lengthOf(shown) <= MAX_SHOWN_CHARS;
  return isShort && !Object.values(shown).some((text) => secrets.some((secret) => text.includes(secret)));
}

/** Characters of the texts of a tool. */
export function lengthOf(shown: ShownTexts): number {
  return Object.values(shown).reduce((sum, text) => sum + text.length, 0);
}

/** The first few clauses, and one that counts the rest. */
export function shorten(clauses: readonly string[], remedy: string): string[] {
  const more = clauses.length - MAX_NAMED;
  return more > 0 ? [...clauses.slice(0, MAX_NAMED), `${more} more tools changed. ${remedy}`] : [...clauses];
}

/** A changed tool to warn about. */
export interface ToolWarning {
  readonly tool: string;
  readonly clause: string;
}

/** One warning for all changed tools of a server, because an update may change every tool, and the next step. */
export function summarize(server: PinnedServer, warnings: readonly ToolWarning[]): string {
  const more = warnings.length - MAX_NAMED;
  const named = warnings.slice(0, MAX_NAMED).map(({ clause }) => clause);
  const clauses = more > 0 ? [...named, `${more} more tools changed`] : named;
  return `${clauses.join('; ')}. ${hintToAccept(server, warnings.length === 1 ? warnings[0]?.tool : undefined)}`;
}
