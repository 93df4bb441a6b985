/**
 * `npm run lab -- picture`: runs the pictured task of `comparison/tasks.ts` for real and draws it, and the parts of the bridge, in both themes
 * into docs/images. Prints the descriptions, which README.md needs as alternative texts.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runComparison } from './comparison/run.ts';
import { TASKS } from './comparison/tasks.ts';
import { drawParts, PARTS_WORDING } from './picture/parts-picture.ts';
import { drawRun, wordingOf } from './picture/run-picture.ts';
import { THEMES } from './picture/themes.ts';

const FOLDER = fileURLToPath(new URL('../docs/images/', import.meta.url));

const run = await runComparison(
  {},
  TASKS.filter(({ isPictured }) => isPictured),
);
mkdirSync(FOLDER, { recursive: true });
for (const [name, theme] of Object.entries(THEMES)) {
  writeFileSync(`${FOLDER}run-${name}.svg`, drawRun(run, theme));
  writeFileSync(`${FOLDER}parts-${name}.svg`, drawParts(theme));
}
console.log(`run: ${wordingOf(run).description}\nparts: ${PARTS_WORDING.description}`);
