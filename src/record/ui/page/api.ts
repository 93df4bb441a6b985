/** Requests to the server of `ui`. The token is in `sessionStorage`, so a reload keeps it, and other tabs and sites do not see it. */

const TOKEN_KEY = 'mcp-bridge-ui-token';

/** Moves the token from the address to the storage of this tab, so that it is in no history and on no screen. */
export function takeToken(): void {
  const token = /^#token=([\w-]+)/.exec(location.hash)?.[1];
  if (token !== undefined) {
    sessionStorage.setItem(TOKEN_KEY, token);
    history.replaceState(null, '', '#/now');
  }
}

/** A request failed: at the server, or on the way. */
export class RequestFailure extends Error {
  /** 0 if there was no answer. */
  readonly status: number;
  readonly hint: string | undefined;

  constructor(message: string, status: number, hint?: string) {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

/** One sentence or two about what failed. */
export function explainFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof RequestFailure ? error.hint : undefined;
  return hint === undefined ? message : `${message} ${hint}`;
}

interface Options {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** The answer, whatever its type; throws `RequestFailure`. */
export async function send(path: string, { method = 'GET', body, signal }: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { Authorization: `Bearer ${sessionStorage.getItem(TOKEN_KEY) ?? ''}` };
  const init: RequestInit = { method, headers, cache: 'no-store', credentials: 'omit', redirect: 'error' };
  if (body !== undefined) {
    headers['Content-Type'] = 'application/json';
    init.body = JSON.stringify(body);
  }
  if (signal !== undefined) {
    init.signal = signal;
  }
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (signal?.aborted === true) {
      throw error;
    }
    throw new RequestFailure('The server of this page does not answer.', 0, 'Check that the command `ui` still runs.');
  }
  if (!response.ok) {
    throw await failureOf(response);
  }
  return response;
}

export async function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  const response = await send(path, { signal });
  return (await response.json()) as Answer;
}

export async function post<Answer = unknown>(path: string, body: unknown = {}): Promise<Answer> {
  const response = await send(path, { method: 'POST', body });
  return (await response.json()) as Answer;
}

/** `/api/NAME/NAME…?KEY=VALUE`, encoded; what is undefined or empty is left out. */
export function pathTo(names: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '') as [string, string][];
  const search = new URLSearchParams(given).toString();
  return `/api/${names.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`;
}

/**
 * The part of a query that says whose something is. A principal may have the same session with a profile and without one, so its
 * profile is named even if there is none; the user of the machine has only one of each.
 */
export function whoseQuery({ principal, profile }: Whose): string {
  return principal === undefined && profile === undefined
    ? ''
    : `?${new URLSearchParams({ principal: principal ?? '', profile: profile ?? '' }).toString()}`;
}

interface Whose {
  readonly principal?: string | undefined;
  readonly profile?: string | undefined;
}

async function failureOf(response: Response): Promise<RequestFailure> {
  const answer = (await response.json().catch(() => ({}))) as { error?: { message?: unknown; hint?: unknown } };
  const { hint, message } = answer.error ?? {};
  const text = typeof message === 'string' ? message : `The server answered with status ${response.status}.`;
  return new RequestFailure(text, response.status, typeof hint === 'string' ? hint : undefined);
}
