/**
 * The call that gets the next page of a list, as far as the answer says that there is one. Pure. Only arguments of the operation change, so
 * whatever the API answers, the next request goes to the same path with the same credentials.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isObject, type JsonObject } from '../../../core/base/is-object.ts';
import { stringifyExact } from '../../../core/protocol/exact-json.ts';
import type { HttpOperation } from './compiled-api.ts';
import type { NextPage } from './next-page-meta.ts';
import {
  itemsIn,
  lastIdIn,
  linksIn,
  numberIn,
  plainName,
  type Sign,
  saysMore,
  signsIn,
  wholeNumber,
} from './page-signs.ts';
import { argumentOf, isScalar, scalarText } from './parameter-values.ts';

export interface Page {
  readonly operation: HttpOperation;
  readonly args: JsonObject;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  /** The body. */
  readonly value: unknown;
}

/** Names of arguments, see `plainName`, in the order in which they are considered. */
const CURSORS = words(
  'cursor nextcursor startcursor pagecursor aftercursor pagetoken nextpagetoken nexttoken continuationtoken continuation continue ' +
    'startingafter after afterid pageafter exclusivestartkey startkey paginationtoken marker bookmark scrollid starttoken skiptoken next token',
);
const AFTER_ID = words('startingafter after afterid');
const PAGES = words('page pagenumber pagenum pageno currentpage pageindex');
const OFFSETS = words('offset skip start startat startindex firstresult pageoffset');
const SIZES = words('perpage limit pagesize maxresults size pagelimit top itemsperpage take count');

/** Names of members of a body. */
const NEXT_ADDRESS = words('next nexturl nexturi nextlink nextpage nextpageurl nextpagelink nexthref odatanextlink');
const IN_NEXT = words('href url uri link');
const NEXT_CURSOR = words(
  'nextcursor nextpagetoken nexttoken nextpagecursor nextcontinuationtoken nextmarker nextpage nextoffset nextpageid next ' +
    'continue continuation continuationtoken paginationtoken lastevaluatedkey endcursor bookmark scrollid',
);
/** What these are depends on where they stand: `paging.cursors.after` is the next page. */
const CURSOR_WITHIN: Readonly<Record<string, readonly string[]>> = {
  cursors: ['after', 'next'],
  next: ['after', 'cursor', 'startingafter'],
  nextpage: ['offset', 'cursor'],
};
/** Airtable's and others', which may also repeat the current one. */
const MAYBE_CURSOR = words('cursor offset');
const TOTAL_PAGES = words('totalpages pagecount lastpage numpages pagestotal pages');
const TOTAL = words('total totalcount totalresults totalitems totalsize totalrecords numfound count');

/** The next page; undefined at the end, without a sign of more, and if the arguments would be the same. */
export function nextPage(page: Page): NextPage | undefined {
  const ways = new Ways(page);
  const next = ways.next();
  if (next === undefined) {
    return ways.isOutOfReach ? { isOutOfReach: true } : undefined;
  }
  const isSame = stringifyExact(next) === stringifyExact({ ...page.args });
  return isSame ? undefined : { arguments: next, ...(ways.isGuess && { isGuess: true }) };
}

/** Whether the operation has an argument for what comes after a page. */
export function hasPages({ body, parameters }: HttpOperation): boolean {
  const names = [...parameters.map(({ name }) => name), ...Object.values(body?.members ?? {})].map(plainName);
  return names.some((name) => [...CURSORS, ...PAGES, ...OFFSETS].includes(name));
}

class Ways {
  /** Whether only a list without a word about more was there. */
  isGuess = false;
  /** Whether an address of a next page was there that no argument leads to. */
  isOutOfReach = false;
  readonly #page: Page;
  readonly #signs: readonly Sign[];
  /** The arguments that may change, by plain name: of the query, and members of the body. */
  readonly #arguments = new Map<string, string>();
  readonly #items: readonly unknown[] | undefined;

  constructor(page: Page) {
    this.#page = page;
    this.#signs = signsIn(page.value);
    this.#items = itemsIn(page.value);
    const { parameters, body } = page.operation;
    Object.entries(body?.members ?? {}).forEach(([argument, name]) => this.#arguments.set(plainName(name), argument));
    parameters
      .filter((each) => each.in === 'query')
      .forEach(({ name, argument }) => this.#arguments.set(plainName(name), argument));
  }

  next(): JsonObject | undefined {
    const isMore = saysMore(this.#signs);
    const { method } = this.#page.operation;
    if (isMore === false || (method !== 'GET' && method !== 'POST')) {
      return undefined;
    }
    const links = linksIn(this.#page.headers.link);
    const named = this.#fromAddress(links.get('next')) ?? this.#fromBodyAddress() ?? this.#fromCursor();
    this.isOutOfReach ||= links.has('next') && this.#leavesOut(links.get('next'));
    // The rest is inferred, so not for a request that may have an effect, and anything that says that this is the last page ends the list.
    const isEnded = ['prev', 'previous', 'first', 'last'].some((relation) => links.has(relation)) || this.#hasNoNext();
    const isInferred = method === 'GET' && this.#items?.length !== 0 && (!isEnded || isMore === true);
    if (named !== undefined || !isInferred) {
      return named;
    }
    return this.#afterLast(isMore) ?? this.#nextNumber(isMore) ?? this.#nextOffset(isMore);
  }

  /** Whether an address asks for something that this call did not. */
  #leavesOut(address: unknown): boolean {
    const { url } = this.#page;
    const isAddress = typeof address === 'string' && URL.canParse(address, url.href);
    const asked = isAddress ? [...new URL(address, url).searchParams] : [];
    return asked.some(([name, text]) => !url.searchParams.getAll(name).includes(text));
  }

  /** Whether a member for the next page is there and empty. */
  #hasNoNext(): boolean {
    const isNext = new Set([...NEXT_ADDRESS, ...NEXT_CURSOR]);
    return this.#signs.some(({ key, value }) => isNext.has(key) && (value === null || value === '' || value === false));
  }

  #fromBodyAddress(): JsonObject | undefined {
    const addresses = this.#signs.filter(
      ({ key, within }) => NEXT_ADDRESS.includes(key) || (within === 'next' && IN_NEXT.includes(key)),
    );
    return this.#first(addresses, ({ value }) => {
      if (typeof value !== 'string' || !/^(?:https?:\/)?[/?]/i.test(value)) {
        return undefined;
      }
      const next = this.#fromAddress(value);
      this.isOutOfReach ||= next === undefined && this.#leavesOut(value);
      return next;
    });
  }

  /**
   * Takes the parameters of an address that are arguments. The host must be the same, but not the scheme, which a server behind a proxy
   * does not know; of the path the last segment, because GitHub replaces the names before it with an id.
   */
  #fromAddress(address: string | undefined): JsonObject | undefined {
    const { url, args, operation } = this.#page;
    const target = address === undefined || !URL.canParse(address, url.href) ? undefined : new URL(address, url);
    if (target?.host !== url.host || lastSegment(target) !== lastSegment(url)) {
      return undefined;
    }
    const taken: JsonObject = {};
    for (const { name, argument } of operation.parameters.filter((each) => each.in === 'query')) {
      const [text, ...others] = target.searchParams.getAll(name);
      const given = argumentOf(args, argument);
      const isSame = isScalar(given) && scalarText(given ?? '') === text;
      if (text !== undefined && others.length === 0 && isScalar(given) && !isSame) {
        taken[argument] = this.#typed(argument, text);
      }
    }
    return Object.keys(taken).length === 0 ? undefined : { ...args, ...taken };
  }

  #fromCursor(): JsonObject | undefined {
    const sure = this.#signs.filter(
      ({ key, within }) => NEXT_CURSOR.includes(key) || CURSOR_WITHIN[within]?.includes(key) === true,
    );
    const maybe = this.#signs.filter(({ key, value }) => MAYBE_CURSOR.includes(key) && typeof value === 'string');
    return this.#first([...sure, ...maybe], ({ key, value }) => {
      const isText = typeof value === 'string' && value !== '' && !/^https?:\/\//i.test(value);
      const isKey = key === 'lastevaluatedkey' && isObject(value);
      const argument = isText || isKey || wholeNumber(value) !== undefined ? this.#takerOf(key) : undefined;
      return argument === undefined ? undefined : this.#with(argument, value);
    });
  }

  /** The argument that takes a cursor: of the same name, with or without `next`, or the operation's only kind of cursor. */
  #takerOf(key: string): string | undefined {
    const plain = key.replace(/^next/, '');
    const numbered = plain === 'page' ? PAGES : plain === 'offset' ? OFFSETS : [];
    return this.#argument([key, plain, ...CURSORS, ...numbered]);
  }

  /** As Stripe, OpenAI and Anthropic: the id of the last item. */
  #afterLast(isMore: boolean | undefined): JsonObject | undefined {
    const hasNumbers = [...PAGES, ...OFFSETS].some((name) => this.#arguments.has(name));
    const isAsked = isMore === true || (!hasNumbers && this.#isOpenList());
    const argument = isAsked ? this.#argument(AFTER_ID) : undefined;
    const id = lastIdIn(this.#signs, this.#items);
    const isId = (typeof id === 'string' && id !== '') || wholeNumber(id) !== undefined;
    return argument === undefined || !isId ? undefined : this.#with(argument, id);
  }

  #nextNumber(isMore: boolean | undefined): JsonObject | undefined {
    const argument = this.#argument(PAGES);
    const reported = numberIn(this.#signs, [...PAGES, 'number']);
    const given = argument === undefined ? undefined : argumentOf(this.#page.args, argument);
    const current = wholeNumber(given ?? this.#defaultOf(argument) ?? reported ?? this.#firstPage(argument));
    // A server that answers with another page than the one that was asked for may do so for ever.
    if (
      argument === undefined ||
      current === undefined ||
      (given !== undefined && reported !== undefined && reported !== current)
    ) {
      return undefined;
    }
    const total = numberIn(this.#signs, TOTAL_PAGES);
    const isNext = isMore ?? (total === undefined ? this.#isFull() : current < total);
    return isNext ? this.#with(argument, current + 1) : undefined;
  }

  #nextOffset(isMore: boolean | undefined): JsonObject | undefined {
    const argument = this.#argument(OFFSETS);
    const count = this.#items?.length;
    if (argument === undefined || count === undefined) {
      return undefined;
    }
    // SCIM counts from 1 (RFC 7644, section 3.4.2.4).
    const first = plainName(argument) === 'startindex' ? 1 : 0;
    const given =
      argumentOf(this.#page.args, argument) ?? this.#defaultOf(argument) ?? numberIn(this.#signs, OFFSETS) ?? first;
    const current = wholeNumber(given);
    if (current === undefined) {
      return undefined;
    }
    const next = current + count;
    const total = numberIn(this.#signs, TOTAL);
    // It may be the number of items on this page.
    const isUnknown = total === undefined || total === count;
    const isNext = isMore ?? (isUnknown ? this.#isFull() : next < total + first);
    return isNext ? this.#with(argument, next) : undefined;
  }

  /** Whether the page has as many items as one may have; if that is unknown, whether it is a list that says nothing. */
  #isFull(): boolean {
    const asked = this.#argument(SIZES);
    const size = wholeNumber(
      asked === undefined ? undefined : (argumentOf(this.#page.args, asked) ?? this.#defaultOf(asked)),
    );
    return size === undefined || size === 0 ? this.#isOpenList() : (this.#items?.length ?? 0) >= size;
  }

  /** Whether the answer is only a list, with items. To ask for more is then the only way to find out. */
  #isOpenList(): boolean {
    const isOpen = Array.isArray(this.#page.value) && this.#page.value.length > 0;
    this.isGuess ||= isOpen;
    return isOpen;
  }

  #argument(names: readonly string[]): string | undefined {
    const found = names.find((name) => this.#arguments.has(name));
    return found === undefined ? undefined : this.#arguments.get(found);
  }

  #with(argument: string, value: unknown): JsonObject {
    return { ...this.#page.args, [argument]: typeof value === 'string' ? this.#typed(argument, value) : value };
  }

  /** A text of the API in the type that the argument has. */
  #typed(argument: string, text: string): unknown {
    const type = this.#schemaOf(argument)['type'];
    const isNumber =
      type === undefined
        ? typeof argumentOf(this.#page.args, argument) === 'number' ||
          [...PAGES, ...OFFSETS, ...SIZES].includes(plainName(argument))
        : [type].flat().some((each) => each === 'integer' || each === 'number');
    return isNumber ? (wholeNumber(text) ?? text) : text;
  }

  #schemaOf(argument: string): JsonObject {
    return this.#page.operation.parameters.find((parameter) => parameter.argument === argument)?.facts ?? {};
  }

  /** Most APIs count from 1. */
  #firstPage(argument: string | undefined): number {
    return argument !== undefined && this.#schemaOf(argument)['minimum'] === 0 ? 0 : 1;
  }

  #defaultOf(argument: string | undefined): unknown {
    return argument === undefined ? undefined : this.#schemaOf(argument)['default'];
  }

  #first(signs: readonly Sign[], next: (sign: Sign) => JsonObject | undefined): JsonObject | undefined {
    for (const sign of signs) {
      const found = next(sign);
      if (found !== undefined) {
        return found;
      }
    }
    return undefined;
  }
}

function lastSegment(url: URL): string | undefined {
  return url.pathname.replace(/\/$/, '').split('/').at(-1);
}

function words(text: string): readonly string[] {
  return text.split(' ');
}
