/**
 * The standard library, compiled once for all bridges of a test run: compiling it takes half a second of CPU time, and most tests start
 * a bridge with a state directory of its own.
 */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const IN_STATE_DIR = '.cache/python';

let store: string | undefined;

/** A folder for the packs of this kernel; its sources may change between two runs. */
function storeFolder(): string {
  if (store === undefined) {
    const sources = join(ROOT, 'sandbox-runtime/bridge_kernel');
    const hash = createHash('sha256');
    for (const name of readdirSync(sources).filter((file) => file.endsWith('.py'))) {
      hash.update(name).update(readFileSync(join(sources, name)));
    }
    store = join(ROOT, 'node_modules/.cache/test-code-packs', hash.digest('hex').slice(0, 16));
  }
  return store;
}

/** Puts the packs of earlier tests into a new state directory. */
export function giveCodePacks(stateDir: string): void {
  if (existsSync(storeFolder())) {
    mkdirSync(join(stateDir, '.cache'), { mode: 0o700 });
    cpSync(storeFolder(), join(stateDir, IN_STATE_DIR), { recursive: true });
  }
}

/** Keeps the packs of a state directory for later tests, unless another test has. */
export function keepCodePacks(stateDir: string): void {
  const made = join(stateDir, IN_STATE_DIR);
  const names = existsSync(made) ? readdirSync(made).filter((name) => name.endsWith('.pack')) : [];
  for (const name of names.filter((one) => !existsSync(join(storeFolder(), one)))) {
    mkdirSync(storeFolder(), { recursive: true });
    // Complete at every moment: another test may copy the folder now.
    const incomplete = `${storeFolder()}.${process.pid}.${name}`;
    cpSync(join(made, name), incomplete);
    renameSync(incomplete, join(storeFolder(), name));
  }
}
