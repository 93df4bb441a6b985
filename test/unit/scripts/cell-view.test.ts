/** The page of the view as it is built: one file that runs only its own script and style, and loads nothing. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildCellView } from '../../../scripts/bundle/cell-view.mjs';
import { ROOT } from '../../support/bridge-client.ts';

let folder: string;
let page: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'view-'));
  await buildCellView(ROOT, join(folder, 'page.html'));
  page = readFileSync(join(folder, 'page.html'), 'utf8');
});
afterAll(() => rmSync(folder, { recursive: true }));

const textsOf = (tag: string): string[] =>
  [...page.matchAll(new RegExp(`<${tag}\\b[^>]*>([\\s\\S]*?)</${tag}>`, 'g'))].map(([, text = '']) => text);
const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

it('has a policy that allows its script, its style and pictures from memory, and nothing else', () => {
  const [[script = '', ...scripts], [style = '', ...styles]] = [textsOf('script'), textsOf('style')];
  expect([scripts, styles]).toEqual([[], []]);
  expect(script.length).toBeGreaterThan(10_000);
  expect(style.length).toBeGreaterThan(2_000);
  expect(/http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1]).toBe(
    `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; img-src data:; base-uri 'none'; form-action 'none'`,
  );
});

it('refers to no file and no address', () => {
  const [script = ''] = textsOf('script');
  const [style = ''] = textsOf('style');
  const markup = page.replace(script, '').replace(style, '');
  expect(markup).not.toMatch(/<(?:link|img|iframe|object|embed|base)\b|\s(?:src|href)=/);
  expect(style).not.toMatch(/url\(|@import/);
  // Names of XML namespaces are no addresses that anything loads.
  const addresses = script.match(/https?:\/\/[\w./-]+/g) ?? [];
  expect(addresses.filter((address) => !address.startsWith('http://www.w3.org/'))).toEqual([]);
});

it('is small', () => {
  expect(Buffer.byteLength(page)).toBeLessThan(64 * 1024);
});
