/**
 * Who may ask: whoever has the token, and no page of another origin. The port of a loopback address can be reached by every program and
 * user of the machine, and, under a name that resolves to it, by pages in the browser.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { UiRefusal } from './refusal.ts';

/** 256 bits, which cannot be guessed. */
const TOKEN_BYTES = 32;

export function createToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** Of every answer: it is never a page of another one, nor part of it, and tells no other server its address. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** Of the page: scripts and styles of its own files only. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export interface AskedHead {
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they arrived. */
  readonly rawHeaders: readonly string[];
}

/** Throws if the request came under another name or from another page. */
export function checkOrigin({ headers, rawHeaders }: AskedHead, port: number): void {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  if (!hosts.includes(headers.host ?? '') || countOf(rawHeaders, 'host') !== 1) {
    throw new UiRefusal(421, 'The Host is not that of this page.', `Use http://${hosts[0]}.`);
  }
  const { origin } = headers;
  if (origin !== undefined && (origin !== `http://${headers.host}` || countOf(rawHeaders, 'origin') !== 1)) {
    throw new UiRefusal(403, 'Pages of other origins may not use this server.');
  }
}

/** Throws if the request has another token, or is one that a page of another origin has caused. */
export function checkToken({ headers, rawHeaders }: AskedHead, token: string): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw new UiRefusal(403, 'Pages of other origins may not use this server.');
  }
  const [, given = ''] = /^Bearer ([\w-]{1,200})$/i.exec(headers.authorization ?? '') ?? [];
  if (!isSame(given, token) || countOf(rawHeaders, 'authorization') !== 1) {
    throw new UiRefusal(
      401,
      'The token is missing or not the one of this server.',
      'Open the address that `ui` printed.',
    );
  }
}

function countOf(rawHeaders: readonly string[], wanted: string): number {
  return rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === wanted).length;
}

/** In a time that does not depend on how much of it is right. */
function isSame(given: string, wanted: string): boolean {
  const [a, b] = [given, wanted].map((text) => createHash('sha256').update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
