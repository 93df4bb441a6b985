// @ts-check
/**
 * Merges the chunks that every start loads into one file. esbuild makes a chunk for each set of modules that the same parts of
 * the program share, so a start would read 28 files, and Node takes longer to find and open a small file than to compile it.
 * The other chunks then import from the merged file, so each module still exists once.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { REQUIRE_BANNER } from './require-banner.mjs';

const MERGED = 'start-up.js';
/** Imports of a chunk, as esbuild writes them. */
const STATIC_IMPORT = /^import (?:\{([^}]*)\} from )?"\.\/([^"]+)";$/gm;
const DYNAMIC_IMPORT = /\bimport\("\.\/([^"]+)"\)/g;
const MEMBER = /(\w+)(?: as (\w+))?/g;

/**
 * @param {string} folder with the chunks
 * @param {readonly string[]} chunks names of all files there
 * @param {readonly string[]} merged those to merge
 */
export async function mergeStartUp(folder, chunks, merged) {
  /** What the merged file exports, by its text. Names of two chunks may be equal, so each is prefixed. @type {Set<string>} */
  const exported = new Set();
  /** @type {Map<string, string>} */
  const texts = new Map();
  for (const name of chunks.filter((chunk) => !merged.includes(chunk))) {
    texts.set(name, redirect(await readFile(join(folder, name), 'utf8'), merged, exported));
  }
  const text = await bundle(folder, merged, [...exported]);
  await Promise.all(merged.map((name) => rm(join(folder, name))));
  texts.set(MERGED, text);
  for (const [name, contents] of texts) {
    const left = merged.find((gone) => contents.includes(`"./${gone}"`));
    if (left !== undefined) {
      throw new Error(`${name} imports ${left}, which was merged into ${MERGED}, in a form that is not understood`);
    }
    await writeFile(join(folder, name), contents);
  }
}

/**
 * The text of a chunk with its imports of merged chunks changed to imports of the merged file.
 * @param {string} text
 * @param {readonly string[]} merged
 * @param {Set<string>} exported what the merged file must export for it; added to
 */
function redirect(text, merged, exported) {
  return text
    .replace(STATIC_IMPORT, (whole, members, file) => {
      const index = merged.indexOf(file);
      if (index === -1) {
        return whole;
      }
      const imported = [...(members ?? '').matchAll(MEMBER)].map(([, name, local = name]) => {
        exported.add(`export { ${name} as c${index}_${name} } from './${file}';`);
        return `c${index}_${name} as ${local}`;
      });
      // An import of nothing only keeps the order of evaluation, and the merged file is always evaluated before the others.
      return imported.length === 0 ? '' : `import { ${imported.join(', ')} } from "./${MERGED}";`;
    })
    .replace(DYNAMIC_IMPORT, (whole, file) => {
      const index = merged.indexOf(file);
      if (index === -1) {
        return whole;
      }
      exported.add(`export * as c${index} from './${file}';`);
      return `import("./${MERGED}").then((all) => all.c${index})`;
    });
}

/**
 * @param {string} folder
 * @param {readonly string[]} merged
 * @param {readonly string[]} exported
 */
async function bundle(folder, merged, exported) {
  const { outputFiles } = await build({
    stdin: { contents: exported.join('\n'), resolveDir: folder },
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    banner: { js: REQUIRE_BANNER },
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [
      {
        name: 'only-merged',
        setup(bundled) {
          bundled.onResolve({ filter: /^\.\// }, ({ path }) =>
            merged.includes(basename(path)) ? undefined : { path, external: true },
          );
          bundled.onLoad({ filter: /\.js$/ }, async ({ path }) => ({
            contents: (await readFile(path, 'utf8')).replace(REQUIRE_BANNER, ''),
          }));
        },
      },
    ],
  });
  return outputFiles[0]?.text ?? '';
}
