/** Lines of `Requires-Dist` with their environment markers (PEP 508, "Environment Markers"). They come from an index. */
import { meetsSpecifier, whyNoSpecifier } from '../../../core/base/package-versions.ts';
import { isPackageName, normalizeName, splitRequirement } from '../requirement.ts';

/** Values of the marker variables, such as `python_version`. */
export type MarkerValues = Readonly<Record<string, string>>;

/** A requirement in its parts. */
export interface Dependency {
  readonly name: string;
  readonly extras: readonly string[];
  /** Empty for any version. */
  readonly specifier: string;
  /** Empty if it always applies. */
  readonly marker: string;
}

const TOKEN =
  /\s*(?:(?<mark>[()]|[<>=!~]=?=?|\bnot\s+in\b|\bin\b|\band\b|\bor\b)|"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<name>[A-Za-z_.]+))/y;
const MAX_LINE_CHARS = 4_000;
const MAX_DEPTH = 32;

/** Undefined for an address, or for anything else that is no name with versions. */
export function parseDependency(line: string): Dependency | undefined {
  const parts = line.length > MAX_LINE_CHARS ? undefined : splitRequirement(line);
  const { extras = [], marker = '', name = '', versions = '' } = parts ?? {};
  const isBracketed = versions.startsWith('(') && versions.endsWith(')');
  const specifier = (isBracketed ? versions.slice(1, -1).trim() : versions).replace(/,$/, '');
  return !isPackageName(name) || (specifier !== '' && whyNoSpecifier(specifier) !== undefined)
    ? undefined
    : {
        name: normalizeName(name),
        extras: extras.filter((extra) => extra !== '').map(normalizeName),
        specifier,
        marker,
      };
}

/** Whether a marker is true; undefined if it cannot be read. */
export function meetsMarker(marker: string, values: MarkerValues): boolean | undefined {
  const tokens = tokensOf(marker);
  return tokens && new MarkerReader(tokens, values).read();
}

interface Token {
  readonly kind: 'mark' | 'text' | 'name';
  readonly text: string;
}

function tokensOf(text: string): Token[] | undefined {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const groups = TOKEN.exec(text)?.groups;
    if (groups === undefined) {
      return undefined;
    }
    const { double, mark, name = '', single } = groups;
    const quoted = double ?? single;
    tokens.push(
      mark !== undefined
        ? { kind: 'mark', text: mark.replace(/\s+/, ' ') }
        : quoted !== undefined
          ? { kind: 'text', text: quoted }
          : { kind: 'name', text: name },
    );
  }
  return tokens;
}

/** Reads `or` of `and` of comparisons, with parentheses. */
class MarkerReader {
  readonly #tokens: readonly Token[];
  readonly #values: MarkerValues;
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], values: MarkerValues) {
    this.#tokens = tokens;
    this.#values = values;
  }

  read(): boolean | undefined {
    const result = this.#either();
    return this.#at === this.#tokens.length ? result : undefined;
  }

  #either(): boolean | undefined {
    let result = this.#both();
    while (this.#takes('or')) {
      const next = this.#both();
      result = result === undefined || next === undefined ? undefined : result || next;
    }
    return result;
  }

  #both(): boolean | undefined {
    let result = this.#one();
    while (this.#takes('and')) {
      const next = this.#one();
      result = result === undefined || next === undefined ? undefined : result && next;
    }
    return result;
  }

  #one(): boolean | undefined {
    if (this.#takes('(')) {
      this.#depth += 1;
      const result = this.#depth > MAX_DEPTH ? undefined : this.#either();
      this.#depth -= 1;
      return this.#takes(')') ? result : undefined;
    }
    const start = this.#at;
    const [left, operator, right] = [this.#value(), this.#tokens[this.#at++], this.#value()];
    if (left === undefined || right === undefined || operator?.kind !== 'mark') {
      return undefined;
    }
    // Extras compare as names do (PEP 685), not as versions.
    const isExtra = [start, start + 2].some((at) => isExtraName(this.#tokens[at]));
    return isExtra
      ? compareTexts(normalizeName(left), operator.text, normalizeName(right))
      : compare(left, operator.text, right);
  }

  #takes(mark: string): boolean {
    const token = this.#tokens[this.#at];
    const isNext = token?.kind === 'mark' && token.text === mark;
    this.#at += isNext ? 1 : 0;
    return isNext;
  }

  #value(): string | undefined {
    const token = this.#tokens[this.#at++];
    return token?.kind === 'text' ? token.text : token?.kind === 'name' ? this.#values[token.text] : undefined;
  }
}

/** Versions compare as versions, everything else as text. */
function compare(left: string, operator: string, right: string): boolean | undefined {
  const asVersions =
    whyNoSpecifier(`${operator}${right}`) === undefined ? meetsSpecifier(left, `${operator}${right}`) : undefined;
  return asVersions ?? compareTexts(left, operator, right);
}

function isExtraName(token: Token | undefined): boolean {
  return token?.kind === 'name' && token.text === 'extra';
}

function compareTexts(left: string, operator: string, right: string): boolean | undefined {
  switch (operator) {
    case '==':
    case '===':
      return left === right;
    case '!=':
      return left !== right;
    case 'in':
      return right.includes(left);
    case 'not in':
      return !right.includes(left);
    case '<':
    case '<=':
    case '>':
    case '>=':
    case '~=':
      // Of texts that are no versions, such as the release of a kernel. Nothing sensible depends on them.
      return false;
    default:
      return undefined;
  }
}
