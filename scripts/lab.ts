/**
 * `npm run lab -- NAME [ARGUMENT…]`: measurements, pictures and tests that need time, a registry or a quiet machine. Without a name it
 * prints the table.
 */
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { LAB, renderTable, unknownName } from './lab-table.ts';

const loader = ['--import', './scripts/typescript-loader.mjs'];
const root = fileURLToPath(new URL('..', import.meta.url));

async function node(...args: readonly string[]): Promise<number> {
  const { exitCode } = await execa(process.execPath, args, { cwd: root, stdio: 'inherit', reject: false });
  return exitCode ?? 1;
}

async function run(name: string, args: readonly string[]): Promise<number> {
  const entry = LAB[name];
  if (entry === undefined) {
    console.error(await unknownName(name));
    return 64;
  }
  const built = entry.needsBuild ? await node('scripts/build.mjs') : 0;
  return built === 0 ? node(...(entry.nodeOptions ?? []), ...loader, entry.file, ...args) : built;
}

// Someone who is used to `npm run NAME -- ARGUMENT…` types a second "--".
const [name, ...rest] = process.argv.slice(2);
const args = rest[0] === '--' ? rest.slice(1) : rest;
if (name === undefined) {
  console.log(renderTable());
} else {
  process.exitCode = await run(name, args);
}
