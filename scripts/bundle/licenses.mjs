// @ts-check
/** The license texts of bundled packages, which their terms require. */
import { readdir, readFile } from 'node:fs/promises';

/** Licenses that allow redistribution together with their text. Any other license stops the build. */
const PERMISSIVE = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT', 'Unlicense'];

/**
 * One text with every package, its version, its license and the license text.
 * @param {import('./contents.mjs').BundledPackage[]} packages
 * @returns {Promise<string>}
 */
export async function renderLicenses(packages) {
  const sections = await Promise.all(packages.map(renderLicense));
  return `This program contains code from the following packages.\n\n${sections.join('\n')}`;
}

/** @param {import('./contents.mjs').BundledPackage} bundled */
async function renderLicense({ name, version, folder, embeddedIn }) {
  const { license } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'));
  if (!PERMISSIVE.includes(license)) {
    throw new Error(
      `${name}@${version} is bundled, but its license is ${license}; allowed are ${PERMISSIVE.join(', ')}`,
    );
  }
  const files = (await readdir(`${folder}`)).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  if (files.length === 0) {
    throw new Error(`${name}@${version} is bundled, but has no license file in ${folder}`);
  }
  const texts = await Promise.all(files.toSorted().map((file) => readFile(`${folder}/${file}`, 'utf8')));
  const origin = embeddedIn === undefined ? '' : ` (a copy inside ${embeddedIn})`;
  return `${'='.repeat(80)}\n${name} ${version}${origin}: ${license}\n\n${texts.map((text) => text.trim()).join('\n\n')}\n`;
}
