/**
 * Whether a path is in a folder, judged by its text alone: the file system may be on another machine, and links in it
 * cannot be followed here. The verdict is `unsure` unless every program would read the path in the same way.
 */
import { any, NO, unsure, type Verdict, YES } from './verdict.ts';

type Kind = 'absolute' | 'drive' | 'home' | 'relative';

interface ParsedPath {
  readonly kind: Kind;
  readonly segments: readonly string[];
  /** The segments without the differences that some file systems ignore. */
  readonly folded: readonly string[];
}

const PARENT = unsure('contains ".."');
const ENCODED = unsure('contains an encoded character such as %2e');
const CONTROL = unsure('contains a control character');
const ADDRESS = unsure('is a URL, not a path');
const NETWORK = unsure('starts with two slashes, which some systems read as a host name');
const BACKSLASH = unsure('contains a backslash, which only some systems treat as a separator');
const WINDOWS_NAME = unsure('contains a name that Windows reads as a different one');
const CASE = unsure('differs from the folder only in case, spacing or the form of its characters');
const LOOKALIKE = unsure('contains a character that some programs read as a dot or a separator');
const BLANK = unsure('contains a name made only of spaces and dots');
const ABOVE = unsure('is above the folder, so the tool may reach into it');
const EMPTY = unsure('is empty');
const OTHER_HOME = unsure("starts with a named user's home folder");
const ELSEWHERE = unsure('is in a place from which the system leads to other folders');
const OTHER_KIND = unsure('does not have the same starting point as the folder (absolute, relative, home or drive)');

const ASCII = /^[ -~]*$/;
/**
 * Places that lead elsewhere on every machine, without a link that anyone made: by process and open file on Linux (proc(5)),
 * by inode and by the volume of user data on macOS. Lower case.
 */
const DOORS: readonly RegExp[] = [
  /^\/proc(?:$|\/(?:\d+|self|thread-self)(?:$|\/))/,
  /^\/dev\/(?:fd|stdin|stdout|stderr)(?:$|\/)/,
  /^\/\.vol(?:$|\/)/,
  /^\/system\/volumes(?:$|\/)/,
];
const DRIVE = /^[A-Za-z]:[\\/]/;

/** Parsed folders of policies: there are few, and every call is compared with them. */
const folders = new Map<string, ParsedPath | Verdict>();
const MAX_FOLDERS = 1_000;

/** Whether `path` is one of the folders or is below one. */
export function isUnder(wanted: readonly string[], path: string): Verdict {
  const parsed = parsePath(path);
  if ('is' in parsed) {
    return parsed;
  }
  return leadsElsewhere(parsed) ? ELSEWHERE : any(wanted.map((folder) => isBelow(parseFolder(folder), parsed)));
}

function leadsElsewhere({ kind, folded }: ParsedPath): boolean {
  const text = kind === 'absolute' ? `/${folded.join('/')}` : '';
  return DOORS.some((door) => door.test(text));
}

function parseFolder(folder: string): ParsedPath | Verdict {
  const known = folders.get(folder);
  if (known !== undefined) {
    return known;
  }
  const parsed = parsePath(folder);
  if (folders.size < MAX_FOLDERS) {
    folders.set(folder, parsed);
  }
  return parsed;
}

function isBelow(folder: ParsedPath | Verdict, path: ParsedPath): Verdict {
  if ('is' in folder || folder.kind !== path.kind) {
    return 'is' in folder ? folder : OTHER_KIND;
  }
  if (folder.kind !== 'drive' && startsWith(path.segments, folder.segments)) {
    return YES;
  }
  if (startsWith(path.folded, folder.folded)) {
    return folder.kind === 'drive' ? YES : CASE;
  }
  return startsWith(folder.folded, path.folded) ? ABOVE : NO;
}

/** Why no path can be compared with this folder of a policy; undefined if paths can. */
export function whyNoFolder(folder: string): string | undefined {
  if (/[*?]/.test(folder)) {
    return 'contains a pattern, and every path below a folder counts anyway';
  }
  if (/\$\{?\w|%\w+%/.test(folder)) {
    return 'contains a variable, which is not replaced here';
  }
  const parsed = parsePath(folder);
  return 'why' in parsed ? parsed.why : undefined;
}

function parsePath(path: string): ParsedPath | Verdict {
  const kind = kindOf(path);
  const isDrive = kind === 'drive';
  const doubt = doubtAbout(path, isDrive);
  if (doubt !== undefined) {
    return doubt;
  }
  const segments = path.split(isDrive ? /[\\/]/ : '/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) {
    return PARENT;
  }
  if (segments.some((segment) => /^\.{0,2}$/.test(segment.trim()))) {
    return BLANK;
  }
  if (kind === 'home' && segments[0] !== '~') {
    return OTHER_HOME;
  }
  if (isDrive && segments.slice(1).some(isOddOnWindows)) {
    return WINDOWS_NAME;
  }
  return { kind, segments, folded: segments.map(fold) };
}

function kindOf(path: string): Kind {
  if (DRIVE.test(path)) {
    return 'drive';
  }
  if (path.startsWith('/')) {
    return 'absolute';
  }
  return path.startsWith('~') ? 'home' : 'relative';
}

function doubtAbout(path: string, isDrive: boolean): Verdict | undefined {
  if (path.trim() === '') {
    return EMPTY;
  }
  if (/[\p{Cc}\p{Cf}\p{Cs}]/u.test(path)) {
    return CONTROL;
  }
  if (!ASCII.test(path) && marksOf(path) !== marksOf(path.normalize('NFKC'))) {
    return LOOKALIKE;
  }
  if (/%[0-9a-f]{2}/i.test(path)) {
    return ENCODED;
  }
  if (/^\s*[A-Za-z][A-Za-z0-9+.-]*:/.test(path) && !isDrive) {
    return ADDRESS;
  }
  if (/^(?:\/\/|\\\\)/.test(path)) {
    return NETWORK;
  }
  return path.includes('\\') && !isDrive ? BACKSLASH : undefined;
}

/** Streams (`a:b`), short names (`PROGRA~1`), and trailing dots and spaces, which Windows drops. */
function isOddOnWindows(segment: string): boolean {
  return segment.includes(':') || /~\d/.test(segment) || /[. ]$/.test(segment);
}

function startsWith(path: readonly string[], folder: readonly string[]): boolean {
  return folder.length <= path.length && folder.every((segment, index) => path[index] === segment);
}

/** The characters that have a meaning in a path. */
function marksOf(path: string): string {
  return path.replaceAll(/[^/\\.:%~]/g, '');
}

function fold(segment: string): string {
  // Nearly every path is ASCII, which normalization does not change.
  return (ASCII.test(segment) ? segment : segment.normalize('NFKC')).trim().toLowerCase();
}
