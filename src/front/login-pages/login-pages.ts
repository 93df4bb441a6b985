/**
 * Logins over HTTP, where the browser of a user cannot reach a port of this machine. A call without a login leads to a link; its page says
 * whose login it is and where; a button goes to the authorization server, which sends the browser back here. The callback is accepted
 * only from the browser that pressed the button, so a link of the authorization server cannot be given to someone else.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import type { RemoteDefinition } from '../../core/base/server-definition.ts';
import type { LoginStore } from '../../edges/upstream/pool.ts';
import { sendPage } from './page.ts';

const PATH = '/login/';
const CALLBACK = 'callback';
const COOKIE = 'mcp_bridge_login';
/** How long a link works. Chosen. */
const LINK_MS = 900_000;
/** How often the button of one link may be pressed, and how many logins one user may have open at a server. Each asks the authorization server. Chosen. */
const MAX_ATTEMPTS = 10;
/** Each user has one link for each configured server, and loses the oldest beyond this. Chosen. */
const MAX_LINKS_OF_ONE = 100;
/** Beyond this, the oldest of all users is dropped. Chosen. */
const MAX_LINKS = 10_000;

interface Link {
  readonly id: string;
  readonly owner: string;
  readonly key: string;
  readonly definition: RemoteDefinition;
  readonly store: LoginStore;
  /** What the server asked for last. A server chooses it, so it is no part of the key. */
  scope: string | undefined;
  /** Whether its owner may still use the bridge. */
  isAllowed: () => Promise<boolean>;
  readonly expiresAtMs: number;
  readonly ended: Promise<boolean>;
  readonly end: (hasLogin: boolean) => void;
  attempts: number;
}

/** The button was pressed. */
interface Attempt {
  readonly link: Link;
  readonly cookie: string;
  readonly take: (parameters: URLSearchParams) => void;
  readonly outcome: Promise<unknown>;
}

export interface LoginPagesOptions {
  /** Under which browsers reach the server, such as `https://mcp.example.com`. */
  readonly origin: () => string;
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export class LoginPages {
  readonly #options: LoginPagesOptions;
  /** The oldest first, so those that are no longer valid come before all others. */
  readonly #links = new Map<string, Link>();
  /** By owner, and by the server. */
  readonly #linksOf = new Map<string, Map<string, Link>>();
  /** By `state`. */
  readonly #attempts = new Map<string, Attempt>();

  constructor(options: LoginPagesOptions) {
    this.#options = options;
  }

  /**
   * The address at which the owner of the definition can log in. The same until it is used or old; it leads nowhere once `isAllowed`
   * says no.
   */
  invite(
    definition: RemoteDefinition,
    store: LoginStore,
    scope: string | undefined,
    isAllowed: Link['isAllowed'],
  ): string {
    this.#forgetOld();
    const key = JSON.stringify([definition.name, definition.url]);
    const link =
      this.#linksOf.get(definition.owner?.name ?? '')?.get(key) ??
      this.#add(key, { definition, store, scope, isAllowed });
    Object.assign(link, { scope, isAllowed });
    return `${this.#options.origin()}${PATH}${link.id}`;
  }

  /** Resolves with whether the user has logged in by this address, at the latest when it is no longer valid. */
  async ended(address: string): Promise<boolean> {
    return (await this.#links.get(address.slice(address.lastIndexOf('/') + 1))?.ended) ?? false;
  }

  /** Answers a request for one of the pages. Resolves with false for any other path. */
  async answer(request: IncomingMessage, response: ServerResponse, path: string): Promise<boolean> {
    if (!path.startsWith(PATH)) {
      return false;
    }
    const id = path.slice(PATH.length);
    this.#forgetOld();
    const link = await this.#allowed(this.#links.get(id));
    if (id === CALLBACK && request.method === 'GET') {
      await this.#callBack(request, response);
    } else if (link === undefined) {
      sendPage(response, 404, {
        title: 'This link is not valid',
        lines: ['It was used, or it is too old. Ask the program again that showed it.'],
      });
    } else if (request.method === 'GET') {
      showLink(response, link);
    } else if (request.method === 'POST' && isPressed(request)) {
      await this.#begin(response, link);
    } else {
      sendPage(response, 405, { title: 'This cannot be done here', lines: ['Open the link in a browser.'] });
    }
    return true;
  }

  /** Drops a link whose owner may no longer use the bridge: its login would be there for the next token of that name. */
  async #allowed(link: Link | undefined): Promise<Link | undefined> {
    if (link === undefined || (await link.isAllowed().catch(() => false))) {
      return link;
    }
    this.#drop(link, false);
    return undefined;
  }

  #add(key: string, given: Pick<Link, 'definition' | 'isAllowed' | 'store' | 'scope'>): Link {
    const owner = given.definition.owner?.name ?? '';
    const own = this.#linksOf.get(owner) ?? new Map<string, Link>();
    const [oldest] = own.size >= MAX_LINKS_OF_ONE ? own.values() : this.#links.values();
    if (oldest !== undefined && (own.size >= MAX_LINKS_OF_ONE || this.#links.size >= MAX_LINKS)) {
      this.#drop(oldest, false);
    }
    let end: Link['end'] = () => undefined;
    const ended = new Promise<boolean>((resolve) => {
      end = resolve;
    });
    const id = randomBytes(32).toString('base64url');
    const link = { ...given, owner, id, key, ended, end, attempts: 0, expiresAtMs: Date.now() + LINK_MS };
    this.#links.set(id, link);
    this.#linksOf.set(owner, own.set(key, link));
    setTimeout(() => this.#forgetOld(), LINK_MS + 1).unref();
    return link;
  }

  #drop(link: Link, hasLogin: boolean): void {
    const own = this.#linksOf.get(link.owner);
    if (this.#links.delete(link.id)) {
      own?.delete(link.key);
    }
    if (own?.size === 0) {
      this.#linksOf.delete(link.owner);
    }
    link.end(hasLogin);
  }

  #forgetOld(): void {
    for (const link of this.#links.values()) {
      if (link.expiresAtMs > Date.now()) {
        return;
      }
      this.#drop(link, false);
    }
  }

  /** Sends the browser to the authorization server. */
  async #begin(response: ServerResponse, link: Link): Promise<void> {
    link.attempts += 1;
    // A link that was used too often is followed by another.
    const open = [...this.#attempts.values()].filter(
      ({ link: of }) => of.owner === link.owner && of.key === link.key,
    ).length;
    if (link.attempts > MAX_ATTEMPTS || open >= MAX_ATTEMPTS) {
      this.#drop(link, false);
      sendPage(response, 429, {
        title: 'This link was used too often',
        lines: ['Ask the program again that showed it.'],
      });
      return;
    }
    const cookie = randomBytes(32).toString('base64url');
    const address = await this.#addressFor(link, cookie);
    if (typeof address === 'string') {
      sendPage(response, 502, { title: 'The login could not begin', lines: [address] });
      return;
    }
    const scope = this.#isSecure ? 'Path=/; Secure' : `Path=${PATH}`;
    response.writeHead(303, {
      Location: address.href,
      'Set-Cookie': `${this.#cookieName}=${cookie}; ${scope}; HttpOnly; SameSite=Lax; Max-Age=${LINK_MS / 1000}`,
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
    });
    response.end();
  }

  get #isSecure(): boolean {
    return this.#options.origin().startsWith('https:');
  }

  /** With the prefix, browsers take it from this host alone (RFC 6265bis): a page of a sibling host could set another one. */
  get #cookieName(): string {
    return this.#isSecure ? `__Host-${COOKIE}` : COOKIE;
  }

  /** Where the person logs in, or why not. */
  async #addressFor(link: Link, cookie: string): Promise<URL | string> {
    const { login } = await import('../../edges/upstream/oauth/login.ts');
    const { definition, scope, store } = link;
    let register: (state: string, take: Attempt['take']) => void = () => undefined;
    let state = '';
    return new Promise((resolve) => {
      const outcome = login(definition, {
        store,
        scope,
        env: this.#options.env,
        timeoutMs: LINK_MS,
        onAddress: async (address) => resolve(address),
        listen: async (wanted) => {
          const answered = new Promise<URLSearchParams>((take) => register(wanted, take));
          return { redirectUrl: `${this.#options.origin()}${PATH}${CALLBACK}`, answered, close: async () => undefined };
        },
      });
      register = (wanted, take) => {
        state = wanted;
        this.#attempts.set(state, { link, cookie, take, outcome });
      };
      outcome
        .then(
          (found) => {
            this.#drop(link, true);
            resolve(found === 'not-needed' ? 'This server needs no login.' : '');
          },
          (error: unknown) => {
            this.#options.logger.info(`A login of ${definition.owner?.name ?? 'someone'} failed: ${messageOf(error)}`);
            resolve(messageOf(error));
          },
        )
        .finally(() => this.#attempts.delete(state));
    });
  }

  async #callBack(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { searchParams } = new URL(request.url ?? '', 'http://callback');
    const attempt = this.#attempts.get(searchParams.get('state') ?? '');
    const isRepeated = ['state', 'code', 'error', 'iss'].some((name) => searchParams.getAll(name).length > 1);
    const isExpected =
      attempt !== undefined && !isRepeated && isSame(cookieOf(request, this.#cookieName), attempt.cookie);
    if (!isExpected || (await this.#allowed(attempt.link)) === undefined) {
      sendPage(response, 400, {
        title: 'No login is waiting for this browser',
        lines: ['Open the link again, and finish the login in the same browser.'],
      });
      return;
    }
    this.#attempts.delete(searchParams.get('state') ?? '');
    attempt.take(searchParams);
    try {
      await attempt.outcome;
      sendPage(response, 200, { title: 'You are logged in', lines: ['You can close this page.'] });
    } catch (error) {
      sendPage(response, 400, {
        title: 'The login did not succeed',
        lines: [messageOf(error), 'Open the link again to try once more.'],
      });
    }
  }
}

function showLink(response: ServerResponse, { definition }: Link): void {
  const { name, owner, url } = definition;
  const who = owner?.name ?? '';
  sendPage(response, 200, {
    title: `Log in at ${name}`,
    lines: [
      `${who} will then use your account at ${new URL(url).host} through this server.`,
      `Continue only if you are ${who}: if someone sent you this link, they would get access to your account.`,
    ],
    button: `I am ${who}: continue`,
  });
}

/** By the button on our page: a browser says where a request comes from (Fetch Metadata), and its origin was checked before. */
function isPressed({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined && (headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin';
}

function cookieOf({ headers }: IncomingMessage, name: string): string {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
}

/** Compares in constant time, whatever the lengths. */
function isSame(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer];
  return timingSafeEqual(a, b);
}
