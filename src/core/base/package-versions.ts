/**
 * Compares versions of Python packages with specifiers such as `>=2,<3` or `==1.26.*`, as pip does (PEP 440, "Version
 * specifiers"). `===`, which compares texts, is left out. Our own, because a policy that denies by version must not miss one
 * (decision 040 has what libraries miss).
 */

interface Version {
  readonly epoch: number;
  readonly release: readonly number[];
  /** Compares what follows the release: `.dev` before `a`, `b` and `rc`, these before nothing, and that before `.post`. */
  readonly suffix: readonly number[];
  readonly isPre: boolean;
  readonly isPost: boolean;
  readonly local: string;
}

const VERSION =
  /^v?(?:(\d{1,9})!)?(\d{1,15}(?:\.\d{1,15}){0,19})(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d{0,15}))?(?:(?:-(\d{1,15}))|(?:[-_.]?(?:post|rev|r)[-_.]?(\d{0,15})))?(?:[-_.]?(dev)[-_.]?(\d{0,15}))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$/;
const CLAUSE = /^(==|!=|<=|>=|~=|<|>)\s*(\S+)$/;
const PHASES: Readonly<Record<string, number>> = { a: 1, alpha: 1, b: 2, beta: 2, c: 3, rc: 3, pre: 3, preview: 3 };
const MAX_CLAUSES = 16;

/** Why a specifier cannot be used, as a clause; undefined if it can. */
export function whyNoSpecifier(text: string): string | undefined {
  const clauses = clausesOf(text);
  const wrong = clauses.find((clause) => compile(clause) === undefined);
  if (wrong !== undefined) {
    return `${JSON.stringify(wrong)} is not a comparison with a version, such as "<3", ">=2,<3" or "==1.26.*"`;
  }
  return clauses.length > MAX_CLAUSES ? `it has more than ${MAX_CLAUSES} comparisons` : undefined;
}

/** Whether a version meets a valid specifier; undefined if it is not a version. */
export function meetsSpecifier(text: string, specifier: string): boolean | undefined {
  const version = parse(text);
  return version && clausesOf(specifier).every((clause) => compile(clause)?.(version) === true);
}

/** Whether a version is a pre-release or a development release; undefined if it is not a version. */
export function isPreRelease(text: string): boolean | undefined {
  return parse(text)?.isPre;
}

/** Negative, zero or positive, for sorting; what is not a version comes first. The local part does not count. */
export function compareVersions(one: string, other: string): number {
  const [first, second] = [parse(one), parse(other)];
  return first && second ? compare(first, second) : Number(first !== undefined) - Number(second !== undefined);
}

function clausesOf(text: string): string[] {
  return text.split(',').map((clause) => clause.trim());
}

function compile(clause: string): ((version: Version) => boolean) | undefined {
  const [, operator = '', text = ''] = CLAUSE.exec(clause) ?? [];
  const isPrefix = text.endsWith('.*');
  const wanted = parse(isPrefix ? text.slice(0, -2) : text);
  if (
    wanted === undefined ||
    (isPrefix && (!/^[!=]=$/.test(operator) || wanted.suffix.some(Boolean) || wanted.local !== ''))
  ) {
    return undefined;
  }
  const isEqual = (version: Version): boolean =>
    isPrefix
      ? startsWith(version, wanted)
      : compare(version, wanted) === 0 && (wanted.local === '' || version.local === wanted.local);
  switch (operator) {
    case '==':
      return isEqual;
    case '!=':
      return (version) => !isEqual(version);
    case '<=':
      return (version) => compare(version, wanted) <= 0;
    case '>=':
      return (version) => compare(version, wanted) >= 0;
    // A pre-release of 3 is not `<3`, and a post-release of 2 is not `>2`.
    case '<':
      return (version) =>
        compare(version, wanted) < 0 &&
        !(version.isPre && !wanted.isPre && compare(version, firstPreRelease(wanted)) >= 0);
    case '>':
      return (version) =>
        compare(version, wanted) > 0 && !(version.isPost && compare(withoutPost(version), wanted) === 0);
    default: {
      const prefix = { ...wanted, release: wanted.release.slice(0, -1) };
      return wanted.release.length < 2
        ? undefined
        : (version) => compare(version, wanted) >= 0 && startsWith(version, prefix);
    }
  }
}

function parse(text: string): Version | undefined {
  const found = VERSION.exec(text.toLowerCase());
  if (found === null) {
    return undefined;
  }
  const [, epoch = '0', release = '', phase, phaseNumber, implicitPost, post, dev, devNumber, local = ''] = found;
  const postNumber = implicitPost ?? post;
  const isPost = postNumber !== undefined;
  const isDev = dev !== undefined;
  const first = phase === undefined ? (isDev && !isPost ? 0 : 4) : (PHASES[phase] ?? 0);
  return {
    epoch: Number(epoch),
    release: release.split('.').map(Number),
    suffix:
      phase === undefined && !isPost && !isDev
        ? PLAIN
        : [
            first - 4,
            Number(phaseNumber ?? 0),
            isPost ? Number(postNumber) + 1 : 0,
            isDev ? Number(devNumber) - LAST : 0,
          ],
    isPre: phase !== undefined || isDev,
    isPost,
    local: local.replaceAll(/[-_]/g, '.'),
  };
}

const PLAIN: readonly number[] = [0, 0, 0, 0];
/** Development releases come before the release: their number, from a negative one up. */
const LAST = 1e15;

/** Negative, zero or positive; the local part does not count. */
function compare(one: Version, other: Version): number {
  return one.epoch - other.epoch || compareLists(one.release, other.release) || compareLists(one.suffix, other.suffix);
}

/** A missing number counts as zero. */
function compareLists(one: readonly number[], other: readonly number[]): number {
  const length = Math.max(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    const difference = (one[index] ?? 0) - (other[index] ?? 0);
    if (difference !== 0) {
      return difference;
    }
  }
  return 0;
}

/** The lowest pre-release of a version: its first development release. */
function firstPreRelease(version: Version): Version {
  const [, , post = 0] = version.suffix;
  return { ...version, suffix: [version.isPost ? 0 : -4, 0, post, -LAST] };
}

function withoutPost(version: Version): Version {
  return { ...version, suffix: [...version.suffix.slice(0, 2), 0, 0] };
}

function startsWith({ epoch, release }: Version, prefix: Version): boolean {
  return epoch === prefix.epoch && prefix.release.every((part, index) => part === (release[index] ?? 0));
}
