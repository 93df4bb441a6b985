// Tags: full, docker-release
/** An installation beyond the limit of the store, and a name with a typing error. Nothing is half-installed. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { type BridgeClient, CLI, environmentOf, startBridge } from '../support/bridge-client.ts';
import { coverEngines, coverPackageEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';
import { type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { makeWheel } from '../support/wheels.ts';

const LARGE_BYTES = 32 * 1024 * 1024;
/** pip, which the first installation may fetch, needs half of it. */
const LIMIT = '24m';

for (const engine of await coverPackageEngines(await coverEngines())) {
  it(`installs nothing beyond the limit of the store on ${engine.label}`, async () => {
    const { failure, sets } = await installTooMuch(engine, { MCP_BRIDGE_PACKAGES_MAX_SIZE: LIMIT });
    expect(failure).toContain('the packages are larger than the limit of the store');
    expect(failure).toContain('MCP_BRIDGE_PACKAGES_MAX_SIZE');
    expect(sets).toEqual(['small-pkg']);
  });
}

/** Installs a small package, then one that is too large, which must fail and harm nothing. */
async function installTooMuch(engine: TestEngine, more: Readonly<Record<string, string>>) {
  const store = `bridge-test-full-${randomUUID().slice(0, 8)}`;
  const index = await startPackageIndex();
  index.add(
    makeWheel({ name: 'small-pkg' }),
    makeWheel({ name: 'large-pkg', files: { 'large_pkg.dat': 'x'.repeat(LARGE_BYTES) } }),
  );
  const env = environmentFor(index, store, more);
  const bridge = await startBridge({ engine, env });
  onTestFinished(async () => {
    await bridge.close();
    await index.close();
    if (engine.isContainer) {
      await engine.run('volume', 'rm', '--force', store);
    } else {
      rmSync(join('/var/lib/mcp-server-code-execution-mode', store), { recursive: true, force: true });
    }
  });
  expect((await bridge.runPython('import small_pkg\nkept = small_pkg.name\nkept')).text).toBe("'small-pkg'");
  const failure = (await bridge.runPython('await runtime.install("large-pkg")')).text;
  expect(failure).toContain('PACKAGE_UNAVAILABLE');
  const asked = index.requests.length;
  // The second attempt is answered from memory.
  expect((await bridge.runPython('await runtime.install("large-pkg")')).text).toContain('PACKAGE_UNAVAILABLE');
  expect(index.requests).toHaveLength(asked);
  expect((await bridge.runPython('import small_pkg\nkept, small_pkg.version')).text).toBe("('small-pkg', '1.0')");
  // A typing error of a well-known name.
  expect((await bridge.runPython('await runtime.install("pandsa")')).text).toContain('pandas');
  return { failure, sets: await packagesInSets(engine, bridge, env) };
}

function environmentFor({ url }: PackageIndex, store: string, more: Readonly<Record<string, string>>) {
  return {
    MCP_BRIDGE_PACKAGES: 'any',
    MCP_BRIDGE_PACKAGES_STORE: store,
    MCP_BRIDGE_PACKAGES_NETWORK: 'host',
    MCP_BRIDGE_TIMEOUT: '120',
    PIP_INDEX_URL: url,
    PIP_CONFIG_FILE: '/dev/null',
    UV_NO_CONFIG: '1',
    ...more,
  };
}

async function packagesInSets(engine: TestEngine, bridge: BridgeClient, env: Readonly<Record<string, string>>) {
  const whole = { ...environmentOf(engine, bridge.folder, env) };
  const { stdout } = await promisify(execFile)(process.execPath, [CLI, 'packages', 'list', '--json'], { env: whole });
  const { sets } = JSON.parse(stdout) as { sets: { packages: { name: string }[] }[] };
  return sets.flatMap(({ packages }) => packages.map(({ name }) => name));
}
