// @ts-check
/** The contents of a bundle, from esbuild's metafile. */
import { readFile } from 'node:fs/promises';

/**
 * A package with code in the bundle. `embeddedIn` names the package that carries a copy of it in its own files; then
 * `folder` is that of another installed version, or undefined.
 * @typedef {{ name: string, version: string, folder: string | undefined, embeddedIn: string | undefined }} BundledPackage
 */

const PACKAGE_PATH = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\/(?!.*node_modules\/)/;

/**
 * The chunks that are read when `modules` are loaded: their own, and statically imported ones. Each module must be an entry
 * point or the target of an `import()`.
 * @param {import('esbuild').Metafile} metafile
 * @param {readonly string[]} modules
 * @returns {string[]}
 */
export function startUpChunks(metafile, modules) {
  const chunks = new Set(modules.map((module) => chunkOf(metafile, module)));
  for (const chunk of chunks) {
    for (const { path, kind } of metafile.outputs[chunk]?.imports ?? []) {
      if (kind === 'import-statement' && metafile.outputs[path] !== undefined) {
        chunks.add(path);
      }
    }
  }
  return [...chunks];
}

/**
 * Unique names of the packages that `inputs` belong to.
 * @param {readonly string[]} inputs
 * @returns {string[]}
 */
export function packagesOf(inputs) {
  return [...new Set(inputs.flatMap((input) => PACKAGE_PATH.exec(input)?.[2] ?? []))];
}

/**
 * @param {import('esbuild').Metafile} metafile
 * @param {string} module
 * @returns {string}
 */
function chunkOf(metafile, module) {
  const chunk = Object.keys(metafile.outputs).find((path) => metafile.outputs[path]?.entryPoint === module);
  if (chunk === undefined) {
    throw new Error(`${module} has no chunk of its own; has it moved?`);
  }
  return chunk;
}

/**
 * Every package with code in any output of these bundles, sorted by name. If a package is itself a bundle, its source maps name
 * the packages in it.
 * @param {string} root
 * @param {readonly import('esbuild').Metafile[]} metafiles
 * @returns {Promise<BundledPackage[]>}
 */
export async function bundledPackages(root, metafiles) {
  /** @type {Map<string, BundledPackage>} */
  const found = new Map();
  for (const input of new Set(metafiles.flatMap(({ outputs }) => Object.values(outputs)).flatMap(inputsOf))) {
    const match = PACKAGE_PATH.exec(input);
    if (match?.[1] === undefined || match[2] === undefined) {
      continue;
    }
    const folder = `${root}${match[1]}`;
    const { version } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'));
    found.set(`${match[2]}@${version}`, { name: match[2], version, folder, embeddedIn: undefined });
    for (const embedded of await embeddedPackages(`${root}${input}.map`)) {
      const key = `${embedded.name}@${embedded.version}`;
      const copy = { ...embedded, folder: `${root}node_modules/${embedded.name}`, embeddedIn: match[2] };
      found.set(key, found.get(key) ?? copy);
    }
  }
  return [...found.values()].toSorted((a, b) => a.name.localeCompare(b.name, 'en'));
}

/**
 * The files whose code is in a chunk.
 * @param {import('esbuild').Metafile['outputs'][string] | undefined} output
 * @returns {string[]}
 */
export function inputsOf(output) {
  return Object.entries(output?.inputs ?? {}).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? path : []));
}

/**
 * @param {string} mapPath
 * @returns {Promise<{ name: string, version: string }[]>}
 */
async function embeddedPackages(mapPath) {
  const text = await readFile(mapPath, 'utf8').catch(() => '{"sources":[]}');
  /** @type {{ sources: string[] }} */
  const { sources } = JSON.parse(text);
  return sources.flatMap((source) => {
    const match = /\.pnpm\/[^/]+?@([0-9][^/_]*)[^/]*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source);
    return match?.[1] === undefined || match[2] === undefined ? [] : { name: match[2], version: match[1] };
  });
}
