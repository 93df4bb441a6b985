/**
 * Whether a path lies in a folder, judged by its text alone: the file system it is about may be another machine's, and
 * links in it cannot be followed here. So a path is only judged when every program reads it the same way; else the verdict
 * is that it cannot be told.
 */
import { any, NO, unsure, type Verdict, YES } from './verdict.ts';

type Kind = 'absolute' | 'drive' | 'home' | 'relative';

interface ParsedPath {
  readonly kind: Kind;
  readonly segments: readonly string[];
  /** The same without the differences that some file systems do not make. */
  readonly folded: readonly string[];
}

const PARENT = unsure('holds ".."');
const ENCODED = unsure('holds an encoded character such as %2e');
const CONTROL = unsure('holds a control character');
const ADDRESS = unsure('is an address, not a path');
const NETWORK = unsure('begins with two slashes, which some systems read as the name of a machine');
const BACKSLASH = unsure('holds a backslash, which only some systems read as a separator');
const WINDOWS_NAME = unsure('holds a name that Windows reads as another one');
const CASE = unsure('differs from the folder only in case, spaces or in how its characters are written');
const LOOKALIKE = unsure('holds a character that some programs read as a dot or a separator');
const BLANK = unsure('holds a name of nothing but spaces and dots');
const ABOVE = unsure('lies above the folder, and a tool may reach down into it');
const EMPTY = unsure('is empty');
const OTHER_HOME = unsure('begins with the home folder of a user by name');
const OTHER_KIND = unsure(
  'is not written from the same starting point as the folder (absolute, relative, home or drive)',
);

const ASCII = /^[ -~]*$/;
const DRIVE = /^[A-Za-z]:[\\/]/;

/** Folders of policies, which are few and judged at every call. */
const folders = new Map<string, ParsedPath | Verdict>();
const MAX_FOLDERS = 1_000;

/** Whether `path` is one of the folders or lies below one. */
export function isUnder(wanted: readonly string[], path: string): Verdict {
  const parsed = parsePath(path);
  return 'is' in parsed ? parsed : any(wanted.map((folder) => isBelow(parseFolder(folder), parsed)));
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

/** Why a folder of a policy could never be judged; undefined when it can. */
export function whyNoFolder(folder: string): string | undefined {
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

/** Streams (`a:b`), short names (`PROGRA~1`), and dots and spaces at the end, which Windows drops. */
function isOddOnWindows(segment: string): boolean {
  return segment.includes(':') || /~\d/.test(segment) || /[. ]$/.test(segment);
}

function startsWith(path: readonly string[], folder: readonly string[]): boolean {
  return folder.length <= path.length && folder.every((segment, index) => path[index] === segment);
}

/** The characters of a path that mean something. */
function marksOf(path: string): string {
  return path.replaceAll(/[^/\\.:%~]/g, '');
}

function fold(segment: string): string {
  // Nearly every path is plain ASCII, for which the normal form is itself.
  return (ASCII.test(segment) ? segment : segment.normalize('NFKC')).trim().toLowerCase();
}
