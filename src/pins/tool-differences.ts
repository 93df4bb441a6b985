/** How a tool differs from what was accepted of it, as data and as texts. Pure. */

import { COMMAND } from '../base/package.ts';
import { quoteShellWord } from '../base/shell-words.ts';
import type { KnownTool, ToolChange } from '../catalog/known.ts';
import type { ShownTexts } from '../directory/server-metadata.ts';
import { stringifyExact } from '../protocol/exact-json.ts';
import { changedParts } from '../upstream/fingerprint.ts';
import type { PinnedTool } from './tool-pins.ts';

/** Longer texts of one tool are not kept to be compared by people. Chosen: the largest of 1,084 real tools fits. */
const MAX_SHOWN_CHARS = 256 * 1024;
/** Changes of one server that are named one by one. */
const MAX_NAMED = 5;
const DATE_CHARS = '2026-11-21'.length;

/** What a person types to look at a change and accept it. */
export function hintToAccept(server: string, tool?: string): string {
  const words = [server, ...(tool === undefined ? [] : [tool])].map((word) => quoteShellWord(word)).join(' ');
  return `A person can look at it and accept it: ${COMMAND} servers approve ${words}`;
}

/** Undefined for a tool that is as it was accepted. */
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

/** The parts of a tool as texts. */
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

/** Whether its texts may be written down. */
export function mayBeKept(shown: ShownTexts, secrets: readonly string[]): boolean {
  const texts = Object.values(shown);
  const isShort = texts.reduce((sum, text) => sum + text.length, 0) <= MAX_SHOWN_CHARS;
  return isShort && !texts.some((text) => secrets.some((secret) => text.includes(secret)));
}

/** One clause for each of the first changes, and one for the others. */
export function shorten(clauses: readonly string[], remedy: string): string[] {
  const more = clauses.length - MAX_NAMED;
  return more > 0 ? [...clauses.slice(0, MAX_NAMED), `${more} more tools changed. ${remedy}`] : [...clauses];
}

/** That a tool changed, as news for the log. */
export interface ToolNews {
  readonly tool: string;
  readonly clause: string;
}

/** One sentence about tools of one server, however many changed, and the next step: an update may change all of them. */
export function summarize(server: string, news: readonly ToolNews[]): string {
  const more = news.length - MAX_NAMED;
  const named = news.slice(0, MAX_NAMED).map(({ clause }) => clause);
  const clauses = more > 0 ? [...named, `${more} more tools changed`] : named;
  return `${clauses.join('; ')}. ${hintToAccept(server, news.length === 1 ? news[0]?.tool : undefined)}`;
}
