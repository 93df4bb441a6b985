/**
 * Installs each package of the `common` list from the index of this machine, imports it and does one line of work with it, on each
 * engine that is asked for, adds the results to `package-table/tried.json`, and writes the lists of `docs/packages-common.md`:
 * `npm run lab -- packages ENGINE… [--image IMAGE] [--only NAME,… | --again] [--at-once N]`.
 *
 * Engines are named as in tests, for example `podman bubblewrap`. What that file has of the engine and image is not tried again,
 * so a run that was cut off goes on, unless `--only` or `--again` asks for it. `--at-once 3` is faster, but its seconds say little.
 */
import { parseArgs } from 'node:util';
import { limitConcurrency } from '../src/core/base/limit-concurrency.ts';
import { COMMON_PACKAGES } from '../src/features/packages/common.ts';
import { startBridge } from '../test/support/bridge-client.ts';
import { findTestEngines, type TestEngine } from '../test/support/engines.ts';
import { findColumn, readColumns, withTried, writeColumns } from './package-table/record.ts';
import { packageStore } from './package-table/store.ts';
import { tryPackage } from './package-table/try.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    again: { type: 'boolean', default: false },
    'at-once': { type: 'string', default: '1' },
    image: { type: 'string' },
    only: { type: 'string' },
  },
});
const { again: isAgain, image, only } = values;

async function tryAll(engine: TestEngine): Promise<void> {
  const present = findColumn(readColumns(), { engine: engine.label, image })?.tried ?? {};
  const names = only?.split(',') ?? [...COMMON_PACKAGES].filter((name) => isAgain || present[name] === undefined);
  const store = packageStore(engine);
  const inTurn = limitConcurrency(Number(values['at-once']));
  const bridge = await startBridge({
    engine,
    env: { ...store.env, MCP_BRIDGE_TIMEOUT: '900', ...(image === undefined ? {} : { MCP_BRIDGE_IMAGE: image }) },
  });
  try {
    const { text } = await bridge.runPython('import platform; print(platform.python_version())');
    const column = { engine: engine.label, ...(image === undefined ? {} : { image }), python: text.trim() };
    const tryOne = async (name: string): Promise<void> => {
      const found = await tryPackage(bridge, name);
      // Read again, because another run may have written meanwhile.
      writeColumns(withTried(readColumns(), column, name, found), [...COMMON_PACKAGES]);
      process.stderr.write(`${engine.label} ${name}: ${JSON.stringify(found)}\n`);
    };
    await Promise.all(names.map(async (name) => inTurn(async () => tryOne(name))));
  } finally {
    await bridge.close();
    await store.remove();
  }
}

process.env['MCP_BRIDGE_TEST_ENGINES'] ??= positionals.join(',');
const { engines, missing } = await findTestEngines(image);
const chosen = engines.filter(({ label }) => positionals.includes(label));
if (chosen.length < positionals.length || chosen.length === 0) {
  throw new Error(`name engines of this machine. ${missing.join('; ')}`);
}
await Promise.all(chosen.map(tryAll));
