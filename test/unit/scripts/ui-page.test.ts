/** The page of `ui` as it is built: its server serves four files, so they refer to nothing else. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildUiPage } from '../../../scripts/bundle/ui-page.mjs';
import { ROOT } from '../../support/bridge-client.ts';

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ui-page-'));
  await buildUiPage(ROOT, folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

const read = (file: string): string => readFileSync(join(folder, file), 'utf8');

it('consists of the files that are served', () => {
  expect(readdirSync(folder).toSorted()).toEqual(['app.css', 'app.js', 'favicon.svg', 'index.html']);
  const named = [...read('index.html').matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address);
  expect(new Set(named)).toEqual(new Set(['/app.css', '/app.js', '/favicon.svg']));
});

it('has styles that load no other file', () => {
  const style = read('app.css');
  expect(style).not.toMatch(/@import|url\(/);
  // One of each file that app.css imports.
  expect(style).toContain('light-dark(');
  expect(style).toContain('.py-keyword');
});
