/** The sets of the store as people and programs see them: with the requests that led to them, and their last use. */

import { escapeControls } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { counted, sizeText } from '../../core/base/units.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { StoredLock } from './locks.ts';
import type { LockedPackage } from './report.ts';
import type { StoredSet } from './store.ts';

/** A request that led to a set. */
interface KnownRequest {
  readonly requirements: readonly string[];
  readonly allowedBy: string | undefined;
}

export interface KnownSet extends StoredSet {
  /** Of this state directory; others may use the same store. */
  readonly requests: readonly KnownRequest[];
  readonly usedAt: Date;
}

/** Characters of an id that are shown; as many as engines show of theirs. */
const SHORT_ID_CHARS = 12;
const MAX_SHOWN_PACKAGES = 4;

/** The last used first. */
export function knownSets(sets: readonly StoredSet[], locks: readonly StoredLock[]): KnownSet[] {
  const known = sets.map((set): KnownSet => {
    const ofSet = locks.filter(({ lock }) => lock.set === set.id);
    const usedAt = new Date(Math.max(set.made_at * 1000, ...ofSet.map(({ usedAtMs }) => Math.floor(usedAtMs))));
    const requests = ofSet.map(({ lock }) => ({ requirements: lock.requirements, allowedBy: lock.allowed_by }));
    return { ...set, requests, usedAt };
  });
  return known.toSorted((one, other) => other.usedAt.getTime() - one.usedAt.getTime());
}

/** A set in JSON. */
export function describeSet(set: KnownSet) {
  const { bytes, id, python } = set;
  return {
    id,
    python,
    bytes,
    madeAt: madeAt(set).toISOString(),
    usedAt: set.usedAt.toISOString(),
    isInUse: set.in_use,
    requests: set.requests.map(({ allowedBy = null, requirements }) => ({ requirements, allowedBy })),
    packages: set.packages.map(describePackage),
  };
}

function madeAt({ made_at: seconds }: KnownSet): Date {
  return new Date(seconds * 1000);
}

export function describePackage({ name, sha256, url, version }: LockedPackage) {
  return { name, version, sha256, url };
}

export function renderStore(sets: readonly KnownSet[], bytes: number, maxBytes: number): string {
  const rows = sets.map((set) => {
    const names = set.packages.map(({ name, version }) => `${name} ${version}`);
    const more = names.length > MAX_SHOWN_PACKAGES ? ` and ${names.length - MAX_SHOWN_PACKAGES} more` : '';
    const use = set.in_use ? 'in use' : `used ${dayOf(set.usedAt)}`;
    return [
      set.id.slice(0, SHORT_ID_CHARS),
      sizeText(set.bytes),
      use,
      `${names.slice(0, MAX_SHOWN_PACKAGES).join(', ')}${more}`,
    ];
  });
  const table = renderTable(rows, `The package store is empty. To add packages, run: ${COMMAND} packages add pandas`);
  const total = `${counted(sets.length, 'set')}, ${sizeText(bytes)} of ${sizeText(maxBytes)}. Sets share the files of common packages.\n`;
  return sets.length === 0 ? table : table + total;
}

/** Everything about each set. */
export function renderSets(sets: readonly KnownSet[]): string {
  return sets.map(renderSet).join('\n');
}

function renderSet(set: KnownSet): string {
  const requested = set.requests.map(({ allowedBy, requirements }) => {
    return ['requested', `${requirements.join(', ')}${allowedBy === undefined ? '' : ` (${allowerText(allowedBy)})`}`];
  });
  const facts = [
    ['set', set.id],
    ['for', set.python],
    ['size', sizeText(set.bytes)],
    ['made', dayOf(madeAt(set))],
    ['used', set.in_use ? 'now' : dayOf(set.usedAt)],
    ...requested,
  ];
  const held = set.packages.map(({ name, sha256, version }) => `  ${name} ${version}  sha256:${sha256}`);
  return `${renderTable(facts, '')}${held.map(escapeControls).join('\n')}\n`;
}

const ALLOWERS: Readonly<Record<string, string>> = {
  command: 'added with packages add',
  common: 'in the list of common packages',
  policy: 'allowed by the policy',
  setting: 'allowed by a setting',
  user: 'allowed by the user',
};

function allowerText(allowedBy: string): string {
  return ALLOWERS[allowedBy] ?? `allowed by ${allowedBy}`;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
