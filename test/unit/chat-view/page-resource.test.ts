/** The page of the view as a resource. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { cellViewResources } from '../../../src/record/chat-view/index.ts';

const URI = 'ui://mcp-server-code-execution-mode/cell.html';

it('is read by its URI, is in no list, and declares that it needs nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'view-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'page.html'), '<!doctype html>');
  const resources = cellViewResources(join(folder, 'page.html'));
  expect(await resources.list()).toEqual([]);
  expect(await resources.read('ui://other/x')).toBeUndefined();
  expect(await resources.read(URI)).toEqual({
    uri: URI,
    mimeType: 'text/html;profile=mcp-app',
    text: '<!doctype html>',
    _meta: {
      ui: {
        csp: { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] },
        prefersBorder: true,
      },
    },
  });
});

it('says what is wrong if the installation lacks it', async () => {
  await expect(cellViewResources('/nowhere/page.html').read(URI)).rejects.toThrow(
    'The page of the view is not part of this installation',
  );
});
