/** What an answer says about the page after it: members of the body by the names that APIs use, and the header `Link`. Pure. */
import { isObject } from '../../../core/base/is-object.ts';
import { isScalar } from './parameter-values.ts';

/** One member of the body, at the top or in a container such as `paging`. */
export interface Sign {
  /** Its name, see `plainName`. */
  readonly key: string;
  /** The plain name of the container; empty at the top. */
  readonly within: string;
  readonly value: unknown;
}

/** Objects that say something about pages, as far as they are known. */
const CONTAINERS: ReadonlySet<string> = new Set(
  'links paging pagination page pages meta metadata responsemetadata resultinfo cursors cursor pageinfo next nextpage'.split(
    ' ',
  ),
);
const MAX_LEVELS = 3;
/** Of one object. Chosen. */
const MAX_MEMBERS = 100;

const HAS_MORE = ['hasmore', 'hasnext', 'hasnextpage', 'more', 'moreavailable', 'istruncated', 'truncated'];
const IS_LAST = ['islast', 'islastpage', 'last', 'isend'];
const ITEMS = [
  'data',
  'items',
  'results',
  'values',
  'records',
  'entries',
  'content',
  'rows',
  'resources',
  'hits',
  'list',
];

/** In lower case, without what separates words: `next_cursor`, `nextCursor` and `@odata.nextLink` in different spellings. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** The members that may say something, those at the top first. */
export function signsIn(value: unknown, within = '', level = 0): readonly Sign[] {
  if (!isObject(value) || isScalar(value) || level > MAX_LEVELS) {
    return [];
  }
  const here = Object.entries(value)
    .slice(0, MAX_MEMBERS)
    .map(([name, member]) => ({ key: plainName(name), within, value: member }));
  const below = here.filter(({ key }) => CONTAINERS.has(key));
  return [...here, ...below.flatMap((sign) => signsIn(sign.value, sign.key, level + 1))];
}

/** Whether there is more, if the answer says so. */
export function saysMore(signs: readonly Sign[]): boolean | undefined {
  const flag = signs.find(({ key, value }) => typeof value === 'boolean' && [...HAS_MORE, ...IS_LAST].includes(key));
  return flag && HAS_MORE.includes(flag.key) === flag.value;
}

/** The first number among members of these names, also if it is written as a text. */
export function numberIn(signs: readonly Sign[], keys: readonly string[]): number | undefined {
  for (const key of keys) {
    const found = signs.map((sign) => (sign.key === key ? wholeNumber(sign.value) : undefined));
    const number = found.find((each) => each !== undefined);
    if (number !== undefined) {
      return number;
    }
  }
  return undefined;
}

export function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

/** The items of the page: the list itself, the list of a usual name, or the only one. */
export function itemsIn(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value) || !isObject(value)) {
    return Array.isArray(value) ? value : undefined;
  }
  const lists = Object.entries(value).filter((member): member is [string, unknown[]] => Array.isArray(member[1]));
  const named = ITEMS.map((key) => lists.find(([name]) => plainName(name) === key)).find(
    (found) => found !== undefined,
  );
  return (named ?? (lists.length === 1 ? lists[0] : undefined))?.[1];
}

/** The id of the last item, or the one that the answer names as such. */
export function lastIdIn(signs: readonly Sign[], items: readonly unknown[] | undefined): unknown {
  const named = signs.find(({ key }) => key === 'lastid')?.value;
  const last = items?.at(-1);
  return named ?? (isObject(last) ? last['id'] : undefined);
}

/** The addresses of a header `Link` by relation (RFC 8288, section 3). Empty if there is no such header. */
export function linksIn(header: string | readonly string[] | undefined): ReadonlyMap<string, string> {
  const links = new Map<string, string>();
  // An address may hold commas and semicolons, but no `>`. Node limits the length of all headers to 16 KiB.
  const text = typeof header === 'object' ? header.join(', ') : (header ?? '');
  for (const [, address = '', parameters = ''] of text.matchAll(/<([^<>]*)>((?:[^<>",]|"[^"]*")*)/g)) {
    // All parameters are read, because the quoted value of another one may look like a relation.
    const read = [...parameters.matchAll(/;\s*([\w*-]+)\s*=\s*(?:"([^"]*)"|([^\s;,"]*))/g)];
    const relations = read.find(([, name]) => name?.toLowerCase() === 'rel');
    for (const relation of (relations?.[2] ?? relations?.[3] ?? '').toLowerCase().split(/\s+/)) {
      if (relation !== '' && !links.has(relation)) {
        links.set(relation, address);
      }
    }
  }
  return links;
}
