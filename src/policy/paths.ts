/**
 * Whether a path lies in a folder, judged by its text alone: the file system it is about may be another machine's, and
 * links in it cannot be followed here. So a path is only judged when every program reads it the same way; else the verdict
 * is that it cannot be told.
 */
import { NO, unsure, type Verdict, YES } from './verdict.ts';

type Kind = 'absolute' | 'drive' | 'home' | 'relative';

interface ParsedPath {
  readonly kind: Kind;
  readonly segments: readonly string[];
}

const PARENT = unsure('holds ".."');
const ENCODED = unsure('holds an encoded character such as %2e');
const CONTROL = unsure('holds a control character');
const ADDRESS = unsure('is an address, not a path');
const NETWORK = unsure('begins with two slashes, which some systems read as the name of a machine');
const BACKSLASH = unsure('holds a backslash, which only some systems read as a separator');
const WINDOWS_NAME = unsure('holds a name that Windows reads as another one');
const CASE = unsure('differs from the folder only in case or in how its characters are written');
const ABOVE = unsure('lies above the folder, and a tool may reach down into it');
const EMPTY = unsure('is empty');
const OTHER_HOME = unsure('begins with the home folder of a user by name');
const OTHER_KIND = unsure(
  'is not written from the same starting point as the folder (absolute, relative, home or drive)',
);

const DRIVE = /^[A-Za-z]:[\\/]/;

/** Whether `path` is `folder` or lies below it. */
export function isUnder(folder: string, path: string): Verdict {
  const base = parsePath(folder);
  const parsed = parsePath(path);
  if ('is' in parsed) {
    return parsed;
  }
  if ('is' in base || base.kind !== parsed.kind) {
    return 'is' in base ? base : OTHER_KIND;
  }
  if (startsWith(parsed.segments, base.segments, base.kind === 'drive' ? fold : String)) {
    return YES;
  }
  if (startsWith(base.segments, parsed.segments, fold)) {
    return ABOVE;
  }
  return startsWith(parsed.segments, base.segments, fold) ? CASE : NO;
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
  if (segments.some((segment) => segment.trim() === '..')) {
    return PARENT;
  }
  if (kind === 'home' && segments[0] !== '~') {
    return OTHER_HOME;
  }
  return isDrive && segments.slice(1).some(isOddOnWindows) ? WINDOWS_NAME : { kind, segments };
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

function startsWith(path: readonly string[], folder: readonly string[], asRead: (text: string) => string): boolean {
  return folder.every((segment, index) => {
    const found = path[index];
    return found !== undefined && asRead(found) === asRead(segment);
  });
}

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
