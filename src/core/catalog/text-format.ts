/**
 * What a tool's text looks like, for tools whose server does not describe it. The words are ours. Of the text itself, only
 * short tags in capitals, such as `[FILE]`, are repeated, because the text may hold secrets or instructions.
 */
import { JSON_BOUNDS, readUntrusted } from '../protocol/untrusted-json.ts';

/** Lines examined. Chosen: later ones hardly ever look different. */
const MAX_LINES = 50;
/** Different tags named. Chosen: with more, they are likely to be data. */
const MAX_TAGS = 3;
const HEADING = /^\s{0,8}#{1,6} [^\n]{0,100}\n/;
const TAGGED = /^\[([A-Z]{2,8})\] \S/;
const NAMED = /^[-*]? ?[A-Za-z][\w .-]{0,40}: \S/;
const BULLET = /^ {0,4}[-*•] \S/;

/** Undefined if nothing is known. */
export function textFormat(text: string): string | undefined {
  if (isJson(text)) {
    return 'JSON, for .json()';
  }
  if (HEADING.test(text) && isJson(text.replace(HEADING, ''))) {
    return 'JSON under a heading, for .json()';
  }
  if (hasFencedJson(text)) {
    return 'markdown with a JSON block, for .json()';
  }
  const lines = text.split('\n', MAX_LINES).filter((line) => line.trim() !== '');
  return lines.length < 2 ? undefined : lineFormat(lines);
}

function lineFormat(lines: readonly string[]): string | undefined {
  const tags = new Set(lines.map((line) => TAGGED.exec(line)?.[1]));
  if (!tags.has(undefined) && tags.size <= MAX_TAGS) {
    return `lines ${[...tags]
      .toSorted((one, other) => String(one).localeCompare(String(other)))
      .map((tag) => `\`[${tag}] …\``)
      .join(', ')}, for .lines()`;
  }
  if (lines.every((line) => NAMED.test(line))) {
    return 'lines `name: value`, for .lines()';
  }
  return lines.every((line) => BULLET.test(line)) ? 'a list of lines `- …`, for .lines()' : undefined;
}

function isJson(text: string): boolean {
  return /^[ \t\r\n]*[[{]/.test(text) && readUntrusted(text, JSON_BOUNDS.serverPart).ok;
}

/** Whether the first fenced block is JSON. */
function hasFencedJson(text: string): boolean {
  const open = text.startsWith('```') ? 0 : text.indexOf('\n```');
  const start = open === -1 ? -1 : text.indexOf('\n', open + 1);
  const end = start === -1 ? -1 : text.indexOf('\n```', start);
  return end !== -1 && isJson(text.slice(start, end));
}
