// Tags: embedded-release
/** The files that `npm run build` made for the embedded engine match these sources. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readKernelSources } from '../../../../../src/core/session/boot.ts';
import { BUILT_FILES_FOLDER } from '../../../../../src/edges/engines/embedded/built-files.ts';
import { hasEmbeddedFiles } from '../../../../../src/edges/engines/embedded/embedded.ts';

const KERNEL = join(import.meta.dirname, '../../../../../sandbox-runtime/bridge_kernel');
const isBuilt = hasEmbeddedFiles();
const notCovered = isBuilt ? '' : 'not covered: embedded: dist/embedded is not built: ';

it.skipIf(!isBuilt)(`${notCovered}the snapshot contains the kernel of these sources`, async () => {
  const manifest = JSON.parse(readFileSync(join(BUILT_FILES_FOLDER, 'manifest.json'), 'utf8')) as { kernel: string };
  const { hash } = await readKernelSources(KERNEL);
  expect(manifest.kernel).toBe(hash);
});
