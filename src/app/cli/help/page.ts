/**
 * Reads a page of the documentation for `help`: without comments and pictures, and with links to other pages replaced by the `help`
 * commands that print them.
 */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import { PACKAGE_ROOT } from '../../../core/base/package.ts';
import { fileOf, type Topic, topicOf } from './topics.ts';

/** A heading and everything up to the next heading of the same or a higher level. */
export interface Section {
  /** As in links: `server-files`. */
  readonly slug: string;
  readonly text: string;
}

/** Fenced code, which is not changed; the group makes `split` keep it. */
const FENCES = /^(```[\s\S]*?^```$)/m;
const HEADING = /^(#+) (.+)$/;
const COMMENT_LINES = /^<!--[^>]*-->\n\n?/gm;
/** A terminal shows none, and the package contains none. */
const PICTURES = /^<picture>\n[\s\S]*?^<\/picture>\n\n?/gm;
/** Inline code, which is not changed, or a link, possibly alone in parentheses. */
const CODE_OR_LINK =
  /`[^`]*`|(?<open>\((?=\[[^\]]*\]\([^)]*\)\)))?\[(?<text>(?:`[^`]*`|[^\]])*)\]\((?<target>[^)\s]+)\)/g;

/** The page of a topic. Throws `USAGE_INVALID` if the documentation is not installed. */
export function readPage(topic: Topic): string {
  const markdown = readMarkdown(topic);
  return outsideOfFences(markdown.replaceAll('\r\n', '\n'), (text) =>
    text
      .replaceAll(COMMENT_LINES, '')
      .replaceAll(PICTURES, '')
      .replaceAll(CODE_OR_LINK, (whole, open?: string, linked?: string, target?: string) =>
        linked === undefined || target === undefined ? whole : rewriteLink({ open, linked, target }, topic),
      ),
  );
}

/** Some installers leave out documentation folders to save space. */
function readMarkdown(topic: Topic): string {
  try {
    return readFileSync(new URL(fileOf(topic), PACKAGE_ROOT), 'utf8');
  } catch (cause) {
    throw new BridgeError('USAGE_INVALID', `the page on '${topic}' cannot be read: ${messageOf(cause)}`, {
      hint: 'Reinstall the package with its docs folder. `help CODE` and `--help` work without it.',
      cause,
    });
  }
}

/** The sections of a page, in order, without the page title. */
export function sectionsOf(page: string): Section[] {
  const lines = page.split('\n');
  const headings: { line: number; level: number; title: string }[] = [];
  let isFenced = false;
  for (const [line, text] of lines.entries()) {
    isFenced = text.startsWith('```') ? !isFenced : isFenced;
    const [, marks = '', title = ''] = (isFenced ? null : HEADING.exec(text)) ?? [];
    if (marks !== '') {
      headings.push({ line, level: marks.length, title });
    }
  }
  return headings.slice(1).map(({ level, line, title }, index) => {
    const next = headings.slice(index + 2).find((heading) => heading.level <= level);
    return { slug: slugOf(title), text: `${lines.slice(line, next?.line).join('\n').trimEnd()}\n` };
  });
}

/** The anchor of a heading, by GitHub's rule as far as our headings need it. */
export function slugOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}

export function outsideOfFences(markdown: string, change: (text: string) => string): string {
  return markdown
    .split(FENCES)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join('');
}

interface Link {
  /** The opening parenthesis before the link, if nothing else is inside the parentheses. */
  readonly open: string | undefined;
  readonly linked: string;
  readonly target: string;
}

/** The replacement of a link: its text, and the `help` command for its target if there is one. */
function rewriteLink({ linked, open = '', target }: Link, from: Topic): string {
  if (/^[a-z]+:/.test(target)) {
    return `${open}[${linked}](${target})`;
  }
  const [, file = '', section = ''] = /^([^#]*)#?(.*)$/.exec(target) ?? [];
  const topic = file === '' ? from : topicOf(posix.join(posix.dirname(fileOf(from)), file));
  // The table of error codes links each code to its own section.
  const isItself = linked.replaceAll('`', '').toLowerCase() === section;
  if (topic === undefined || isItself) {
    return `${open}${linked}`;
  }
  const command = `\`help ${topic}${section === '' ? '' : ` ${section}`}\``;
  return open === '' ? `${linked} (${command})` : `${open}${command}`;
}
