/** A request and its response without a connection. */
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface FakeRequest {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface FakePage {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function fakeExchange({ method = 'GET', url = '/', headers = {} }: FakeRequest = {}) {
  let page: FakePage = { status: 0, headers: {}, body: '' };
  const response = {
    writeHead(status: number, sent: Readonly<Record<string, string>> = {}) {
      page = { status, headers: sent, body: '' };
      return response;
    },
    end(body = '') {
      page = { ...page, body };
    },
  };
  return {
    request: { method, url, headers } as unknown as IncomingMessage,
    response: response as unknown as ServerResponse,
    page: () => page,
  };
}
