/**
 * Reads `policy.json` in the state directory, and again when it changes. Used for every tool call, so it checks the file at
 * intervals. Not a watcher, because watchers miss changes on network drives and when an editor replaces the file.
 */
import { lstatSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../core/base/errors.ts';
import { parseJson, repeatedKey } from '../../core/base/json-text.ts';
import { whyNotUtf8 } from '../../core/base/utf8-line.ts';

/** Chosen: ten thousand rules fit. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Interval between checks of the file; each takes 3 µs. People do not notice the delay. */
const CHECK_EVERY_MS = 250;
/** A file that is missing for this long was removed: editors remove a file for a moment when they replace it. */
const GONE_AFTER_MS = 2_000;
const BROKEN_LINK = 'is a broken link';

/** The content of the file, not validated, or why it could not be read. */
export type PolicyFile = { readonly file: string } & ({ readonly value: unknown } | { readonly problem: string });

/** The current file: the same object until it changes; undefined if there is none. */
export type ReadPolicyFile = () => PolicyFile | undefined;

export function createPolicyFile(stateDir: string, nowMs: () => number = () => performance.now()): ReadPolicyFile {
  const file = join(stateDir, 'policy.json');
  let current: PolicyFile | undefined;
  let stamp = '';
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let missingSinceMs: number | undefined;

  function settleMissing(): void {
    const problem = brokenLink(stateDir, file);
    if (problem === undefined) {
      [current, stamp] = [undefined, ''];
    } else if (stamp !== problem) {
      [current, stamp] = [{ file, problem }, problem];
    }
  }

  function check(atMs: number): void {
    const stats = statOf(file);
    if (stats === undefined) {
      missingSinceMs ??= atMs;
      if (current === undefined || atMs - missingSinceMs >= GONE_AFTER_MS) {
        settleMissing();
      }
      return;
    }
    missingSinceMs = undefined;
    const found = 'problem' in stats ? stats.problem : `${stats.ino}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`;
    if (found !== stamp) {
      stamp = found;
      current = { file, ...('problem' in stats ? stats : read(file, stats)) };
    }
  }

  return () => {
    const atMs = nowMs();
    if (atMs - checkedAtMs >= CHECK_EVERY_MS) {
      checkedAtMs = atMs;
      check(atMs);
    }
    return current;
  };
}

/** A broken link is a policy that cannot be read, not a missing one: its drive may not be mounted. */
function brokenLink(stateDir: string, file: string): string | undefined {
  try {
    if (isBrokenLink(stateDir)) {
      return `cannot be accessed: ${stateDir} ${BROKEN_LINK}`;
    }
    return isBrokenLink(file) ? BROKEN_LINK : undefined;
  } catch (error) {
    // If the state directory is a file, `statSync` throws ENOTDIR in Node 20, but not in Node 24.
    return `cannot be accessed: ${messageOf(error)}`;
  }
}

function isBrokenLink(path: string): boolean {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink && statSync(path, { throwIfNoEntry: false }) === undefined;
}

/** Undefined if there is no such file. A file that cannot be accessed is a problem, not a missing file. */
function statOf(file: string): Stats | { readonly problem: string } | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch (error) {
    return { problem: `cannot be accessed: ${messageOf(error)}` };
  }
}

function read(file: string, stats: Stats): { readonly value: unknown } | { readonly problem: string } {
  if (!stats.isFile()) {
    return { problem: 'is not a file' };
  }
  if (stats.size > MAX_FILE_BYTES) {
    return { problem: `has ${stats.size} bytes; the limit is ${MAX_FILE_BYTES} bytes` };
  }
  try {
    const bytes = readFileSync(file);
    const fault = whyNotUtf8(bytes);
    if (fault !== undefined) {
      return { problem: fault };
    }
    const text = bytes.toString('utf8');
    const parsed = parseJson(text);
    const repeated = 'fault' in parsed ? undefined : repeatedKey(text, parsed.value);
    if (repeated !== undefined) {
      return { problem: `has the key ${JSON.stringify(repeated)} more than once in one object` };
    }
    return 'fault' in parsed ? { problem: parsed.fault } : parsed;
  } catch (error) {
    return { problem: `cannot be read: ${messageOf(error)}` };
  }
}
