/** The pages as a browser gets them: nothing in them is code, whatever names and messages contain. */
import { expect, it } from 'vitest';
import { sendPage } from '../../../src/front/login-pages/page.ts';
import { fakeExchange } from './fake-exchange.ts';

const HOSTILE = `</title><script>alert("x")</script><img src=x onerror='alert(1)'>&lt;b&gt;\u0000`;

it('escape every text, so that names stay text', () => {
  const { response, page } = fakeExchange();
  sendPage(response, 200, { title: HOSTILE, lines: [HOSTILE, HOSTILE], button: HOSTILE });
  const html = page().body;
  const tags = [...html.matchAll(/<(\/?[a-z!][\w-]*)([^>]*)>/gi)].map(([, name = '', rest = '']) => `${name}${rest}`);
  expect(tags).toEqual([
    '!doctype html',
    'html lang="en"',
    'meta charset="utf-8"',
    'title',
    '/title',
    'h1',
    '/h1',
    'p',
    '/p',
    'p',
    '/p',
    'form method="post"',
    'button',
    '/button',
    '/form',
    '/html',
  ]);
  // An entity of the text is shown as it was written.
  expect(html).toContain('&#38;lt;b&#38;gt;');
});

it('load nothing, run nothing, and cannot be framed or kept', () => {
  const { response, page } = fakeExchange();
  sendPage(response, 404, { title: 'x', lines: [] });
  const { status, headers, body } = page();
  expect(status).toBe(404);
  expect(headers).toMatchObject({
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  });
  expect(body).not.toContain('<form');
});
