/** `npm run lab -- comparison [--write]`: does the tasks of `comparison/tasks.ts` both ways and prints the table, or writes it to docs/comparison.md. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runComparison } from './comparison/run.ts';
import { renderComparison } from './comparison/table.ts';
import { replaceGenerated } from './generate/markers.ts';

const DOCUMENT = fileURLToPath(new URL('../docs/comparison.md', import.meta.url));

const table = renderComparison(await runComparison({}));
if (process.argv.includes('--write')) {
  const current = await readFile(DOCUMENT, 'utf8');
  await writeFile(DOCUMENT, replaceGenerated(current, { comparison: () => table }));
} else {
  console.log(table);
}
