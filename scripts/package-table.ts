/**
 * Installs each package of the `common` list from the index of this machine, imports it and does one line of work with it, on each
 * engine that is asked for, and writes the table in `docs/packages-common.md`. `npm run packages:table -- ENGINE… [--only NAME,…]`
 * takes the labels of the tests' engines, for example `podman bubblewrap`.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { COMMON_PACKAGES } from '../src/packages/common.ts';
import { startBridge } from '../test/support/bridge-client.ts';
import { findTestEngines, type TestEngine } from '../test/support/engines.ts';
import { replaceGenerated } from './generate/markers.ts';
import { type Column, renderTable, type TriedPackage } from './package-table/table.ts';
import { tryPackage } from './package-table/try.ts';

const DOCUMENT = fileURLToPath(new URL('../docs/packages-common.md', import.meta.url));

async function tryAll(engine: TestEngine, names: readonly string[]): Promise<Column> {
  const store = `bridge-table-${randomUUID().slice(0, 8)}`;
  const env = {
    MCP_BRIDGE_PACKAGES: 'common',
    MCP_BRIDGE_PACKAGES_STORE: store,
    MCP_BRIDGE_MAX_TIMEOUT: '900',
    MCP_BRIDGE_TIMEOUT: '900',
  };
  const bridge = await startBridge({ engine, env });
  const tried = new Map<string, TriedPackage>();
  try {
    const { text: python } = await bridge.runPython('import platform; print(platform.python_version())');
    for (const name of names) {
      // biome-ignore lint/performance/noAwaitInLoops: the time of each one counts.
      const found = await tryPackage(bridge, name);
      tried.set(name, found);
      process.stderr.write(`${engine.label} ${name}: ${JSON.stringify(found)}\n`);
    }
    return { engine: engine.label, python: python.trim(), tried };
  } finally {
    await bridge.close();
    if (engine.isContainer) {
      await engine.run('volume', 'rm', '--force', store);
    } else {
      rmSync(join('/var/lib/mcp-server-code-execution-mode', store), { recursive: true, force: true });
    }
  }
}

const { positionals, values } = parseArgs({ allowPositionals: true, options: { only: { type: 'string' } } });
const { engines } = await findTestEngines();
const chosen = engines.filter(({ label }) => positionals.includes(label));
if (chosen.length < positionals.length || chosen.length === 0) {
  throw new Error(`name engines of this machine: ${engines.map(({ label }) => label).join(' ')}`);
}
const names = values.only?.split(',') ?? [...COMMON_PACKAGES];
const columns = await Promise.all(chosen.map(async (engine) => tryAll(engine, names)));
const table = renderTable(names, columns);
if (values.only === undefined) {
  writeFileSync(DOCUMENT, replaceGenerated(readFileSync(DOCUMENT, 'utf8'), { packages: () => table }));
} else {
  process.stdout.write(`${table}\n`);
}
