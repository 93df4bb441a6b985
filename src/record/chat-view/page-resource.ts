/** The page of the view as a resource. Hosts find it through the tool, so the list of resources does not have it. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { PACKAGE_ROOT } from '../../core/base/package.ts';
import type { ResourceProvider } from '../../front/server/resources.ts';
import { CELL_VIEW_URI, VIEW_TYPE } from '../../front/server/views.ts';

/** Built by `scripts/bundle/cell-view.mjs`. */
const PAGE_FILE = fileURLToPath(new URL('dist/cell-view.html', PACKAGE_ROOT));

/** What the host lets the page do: nothing beyond its own text. It asks for no permission, such as the camera, either. */
const PAGE_META = {
  ui: {
    csp: { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] },
    prefersBorder: true,
  },
};

/** @param file the page; by default that of this installation. */
export function cellViewResources(file: string = PAGE_FILE): ResourceProvider {
  return {
    list: async () => [],
    read: async (uri) =>
      uri === CELL_VIEW_URI ? { uri, mimeType: VIEW_TYPE, text: await readPage(file), _meta: PAGE_META } : undefined,
  };
}

async function readPage(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    // The path is nothing that a client needs.
    throw new Error('The page of the view is not part of this installation', { cause });
  }
}
