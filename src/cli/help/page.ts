/**
 * A page of the documentation as Markdown for someone who has only the command: comments are gone, and a link to another
 * page is the `help` command that prints it.
 */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.ts';
import { PACKAGE_ROOT } from '../../base/package.ts';
import { fileOf, type Topic, topicOf } from './topics.ts';

/** A heading with everything below it, up to the next heading of the same or a higher level. */
export interface Section {
  /** As in links: `server-files`. */
  readonly slug: string;
  readonly text: string;
}

/** Fenced code, which is left as it is; the group makes `split` keep it. */
const FENCES = /^(```[\s\S]*?^```$)/m;
const HEADING = /^(#+) (.+)$/;
const COMMENT_LINES = /^<!--[^>]*-->\n\n?/gm;
/** Code between backticks, which is left as it is, or a link, perhaps alone in parentheses. */
const CODE_OR_LINK =
  /`[^`]*`|(?<open>\((?=\[[^\]]*\]\([^)]*\)\)))?\[(?<text>(?:`[^`]*`|[^\]])*)\]\((?<target>[^)\s]+)\)/g;

/** The page of a topic. Throws `USAGE_INVALID` when the package came without its documentation. */
export function readPage(topic: Topic): string {
  const markdown = readMarkdown(topic);
  return outsideOfFences(markdown.replaceAll('\r\n', '\n'), (text) =>
    text
      .replaceAll(COMMENT_LINES, '')
      .replaceAll(CODE_OR_LINK, (whole, open?: string, linked?: string, target?: string) =>
        linked === undefined || target === undefined ? whole : rewriteLink({ open, linked, target }, topic),
      ),
  );
}

/** Some installers leave out folders of documentation to save room. */
function readMarkdown(topic: Topic): string {
  try {
    return readFileSync(new URL(fileOf(topic), PACKAGE_ROOT), 'utf8');
  } catch (cause) {
    throw new BridgeError('USAGE_INVALID', `the page on '${topic}' cannot be read: ${messageOf(cause)}`, {
      hint: 'Install this package again, with its folder docs. `help CODE` and `--help` work without it.',
      cause,
    });
  }
}

/** The sections of a page, in its order; not the page itself, whose title is a heading too. */
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

/** How links name a heading; the rule is GitHub's, as far as our headings need it. */
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
  /** The parenthesis before it, when nothing else is inside. */
  readonly open: string | undefined;
  readonly linked: string;
  readonly target: string;
}

/** What stands in place of a link: its text, and how to read what it leads to where a command prints that. */
function rewriteLink({ linked, open = '', target }: Link, from: Topic): string {
  if (/^[a-z]+:/.test(target)) {
    return `${open}[${linked}](${target})`;
  }
  const [, file = '', section = ''] = /^([^#]*)#?(.*)$/.exec(target) ?? [];
  const topic = file === '' ? from : topicOf(posix.join(posix.dirname(fileOf(from)), file));
  // The table of error codes links each to its section.
  const isItself = linked.replaceAll('`', '').toLowerCase() === section;
  if (topic === undefined || isItself) {
    return `${open}${linked}`;
  }
  const command = `\`help ${topic}${section === '' ? '' : ` ${section}`}\``;
  return open === '' ? `${linked} (${command})` : `${open}${command}`;
}
