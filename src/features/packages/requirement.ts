/**
 * Requirements as code may state them: a name, extras, versions and a marker, without addresses and options. A subset of PEP 508,
 * with bounds of its own. The result is composed again from its parts, so that pip reads nothing else in it.
 */
import { BridgeError } from '../../core/base/errors.ts';

export interface Requirement {
  /** As PEP 503 writes it: lower case, with single hyphens. */
  readonly name: string;
  /** The whole requirement, as pip reads it. */
  readonly text: string;
}

/** Chosen: the longest name on PyPI has 80 characters. */
const MAX_NAME_CHARS = 100;
/** Chosen: the longest useful requirement has about 100. */
export const MAX_REQUIREMENT_CHARS = 300;
const MAX_EXTRAS = 16;
const MAX_CLAUSES = 8;

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const HEAD = /^(?<name>[A-Za-z0-9._-]+)\s*(?:\[(?<extras>[^\]]*)\])?(?<versions>.*)$/s;
const CLAUSE = /^(?<operator>===|==|!=|<=|>=|~=|<|>)\s*(?<version>[A-Za-z0-9][A-Za-z0-9.*+!_-]{0,63})$/;
/** Comparisons of quoted words: nothing that a shell or pip could take for anything else. */
const MARKER = /^[A-Za-z0-9_.'"<>=!~, ()-]{1,200}$/;

/** The name as indexes compare it (PEP 503). */
export function normalizeName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-');
}

/** Whether a text can be the name of a package. */
export function isPackageName(name: string): boolean {
  return name.length <= MAX_NAME_CHARS && NAME.test(name);
}

/**
 * A requirement in its parts, trimmed and not checked; undefined if it does not begin with a name. Split at the first semicolon,
 * and what follows the extras is taken whole: one pattern for all would try every way to share out a run of spaces.
 */
export function splitRequirement(text: string) {
  const at = text.indexOf(';');
  const groups = HEAD.exec((at === -1 ? text : text.slice(0, at)).trim())?.groups;
  return (
    groups && {
      name: groups['name'] ?? '',
      extras: listOf(groups['extras']),
      versions: (groups['versions'] ?? '').trim(),
      marker: at === -1 ? undefined : text.slice(at + 1).trim(),
    }
  );
}

/** Throws `CALL_REFUSED` for anything but a name, extras, versions and a marker. */
export function parseRequirement(text: string): Requirement {
  const found = text.length <= MAX_REQUIREMENT_CHARS ? splitRequirement(text) : undefined;
  const { extras = [], marker, name = '', versions: specifier } = found ?? {};
  const clauses = listOf(specifier).map((clause) => CLAUSE.exec(clause)?.groups);
  const isValid =
    isPackageName(name) &&
    extras.length <= MAX_EXTRAS &&
    extras.every(isPackageName) &&
    clauses.length <= MAX_CLAUSES &&
    clauses.every((clause) => clause !== undefined) &&
    (marker === undefined || MARKER.test(marker));
  if (!isValid) {
    throw new BridgeError('CALL_REFUSED', `${JSON.stringify(text.slice(0, 80))} is not a requirement`, {
      hint: 'Name a package with optional extras and versions, such as pandas>=2 or "httpx[http2]==0.28.1"; no addresses, files or options.',
    });
  }
  const normal = normalizeName(name);
  const ofExtras = extras.length === 0 ? '' : `[${[...new Set(extras.map(normalizeName))].toSorted().join(',')}]`;
  const versions = clauses.map((clause) => `${clause?.['operator']}${clause?.['version']}`).toSorted();
  const ofMarker = marker === undefined ? '' : `; ${marker.replaceAll(/\s+/g, ' ')}`;
  return { name: normal, text: `${normal}${ofExtras}${versions.join(',')}${ofMarker}` };
}

function listOf(text: string | undefined): string[] {
  const trimmed = (text ?? '').trim();
  return trimmed === '' ? [] : trimmed.split(',').map((part) => part.trim());
}
