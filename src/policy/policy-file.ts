/**
 * Reads `policy.json` of the state directory when it changed. Asked at every call of a tool, so it looks at the file only
 * now and then; no watcher, because those miss changes on network drives and when an editor replaces the file.
 */
import { lstatSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { parseJson, repeatedKey } from '../base/json-text.ts';

/** Chosen: ten thousand rules take less. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Between two looks at the file; one costs 3 µs. A person does not notice. */
const LOOK_EVERY_MS = 250;
/** A file that is missing for this long was removed: editors take one away for a moment to put another in its place. */
const GONE_AFTER_MS = 2_000;
const LEADS_NOWHERE = 'is a link to something that is not there';

/** What is in the file, not checked yet, or why it could not be read. */
export type PolicyFile = { readonly file: string } & ({ readonly value: unknown } | { readonly problem: string });

/** The file of now; the same object as long as it did not change, undefined when there is none. */
export type ReadPolicyFile = () => PolicyFile | undefined;

export function createPolicyFile(stateDir: string, nowMs: () => number = () => performance.now()): ReadPolicyFile {
  const file = join(stateDir, 'policy.json');
  let current: PolicyFile | undefined;
  let stamp = '';
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let missingSinceMs: number | undefined;

  function settleMissing(): void {
    const problem = whyNowhere(stateDir, file);
    if (problem === undefined) {
      [current, stamp] = [undefined, ''];
    } else if (stamp !== problem) {
      [current, stamp] = [{ file, problem }, problem];
    }
  }

  function look(atMs: number): void {
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
    if (atMs - lookedAtMs >= LOOK_EVERY_MS) {
      lookedAtMs = atMs;
      look(atMs);
    }
    return current;
  };
}

/** A link to what is not there is a policy that cannot be read: the drive that holds it may not be mounted. */
function whyNowhere(stateDir: string, file: string): string | undefined {
  try {
    if (leadsNowhere(stateDir)) {
      return `cannot be looked at: ${stateDir} ${LEADS_NOWHERE}`;
    }
    return leadsNowhere(file) ? LEADS_NOWHERE : undefined;
  } catch (error) {
    // When the state directory is a file, `statSync` of Node 24 finds nothing where that of Node 20 throws ENOTDIR.
    return `cannot be looked at: ${messageOf(error)}`;
  }
}

function leadsNowhere(path: string): boolean {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink && statSync(path, { throwIfNoEntry: false }) === undefined;
}

/** Undefined when there is no such file; a file that cannot be looked at is a problem, not a missing one. */
function statOf(file: string): Stats | { readonly problem: string } | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch (error) {
    return { problem: `cannot be looked at: ${messageOf(error)}` };
  }
}

function read(file: string, stats: Stats): { readonly value: unknown } | { readonly problem: string } {
  if (!stats.isFile()) {
    return { problem: 'is no file' };
  }
  if (stats.size > MAX_FILE_BYTES) {
    return { problem: `has ${stats.size} bytes; it may have ${MAX_FILE_BYTES}` };
  }
  try {
    const text = readFileSync(file, 'utf8');
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
