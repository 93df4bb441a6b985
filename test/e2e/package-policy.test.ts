// Tags: anywhere, full
/** Who decides about packages, and what leaves the machine: the built command, a real client, and an index that counts requests. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDeferred } from '../../src/core/base/deferred.ts';
import { MAX_QUESTIONS_PER_SESSION } from '../../src/features/packages/consent.ts';
import { startAskingBridge } from '../support/asking-bridge.ts';
import { CLI, startBridge } from '../support/bridge-client.ts';
import { coverEngines, coverPackageEngines } from '../support/covered-engines.ts';
import { type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { makeWheel } from '../support/wheels.ts';

const PASSWORD = 'hunter2-and-more';
const engines = (await coverPackageEngines(await coverEngines())).slice(0, 1);

for (const engine of engines) {
  describe(`decisions about packages on ${engine.label}`, () => {
    const store = `bridge-test-policy-${randomUUID().slice(0, 8)}`;
    let index: PackageIndex;
    const environment = (env: Record<string, string> = {}) => ({
      MCP_BRIDGE_PACKAGES: 'common',
      MCP_BRIDGE_PACKAGES_STORE: store,
      MCP_BRIDGE_PACKAGES_NETWORK: 'host',
      MCP_BRIDGE_TIMEOUT: '120',
      PIP_INDEX_URL: index.url,
      // No other index of this machine.
      PIP_CONFIG_FILE: '/dev/null',
      UV_NO_CONFIG: '1',
      ...env,
    });
    const start = async (env: Record<string, string>, packages: readonly unknown[] = []) => {
      const bridge = await startBridge({ engine, env: environment(env) });
      writeFileSync(join(bridge.folder, 'policy.json'), JSON.stringify({ packages }));
      return bridge;
    };
    const command = async (folder: string, ...args: string[]) => {
      const env = { ...process.env, ...engine.env, ...environment(), MCP_BRIDGE_STATE_DIR: folder };
      return (await promisify(execFile)(process.execPath, [CLI, ...args], { env })).stdout;
    };

    beforeAll(async () => {
      index = await startPackageIndex();
      index.add(
        makeWheel({ name: 'tabulate', version: '1.0' }),
        makeWheel({ name: 'tomli', version: '2.0', requires: ['tiny-pkg'] }),
        makeWheel({ name: 'rare-pkg', version: '1.0' }),
        makeWheel({ name: 'tiny-pkg', version: '1.0' }),
        makeWheel({ name: 'fresh', version: '1.0' }),
        { ...makeWheel({ name: 'fresh', version: '2.0' }), uploadedAt: new Date() },
        { ...makeWheel({ name: 'newborn' }), uploadedAt: new Date() },
      );
    });
    afterAll(async () => {
      await index.close();
      if (engine.isContainer) {
        await engine.run('volume', 'rm', '--force', store);
      } else {
        rmSync(join('/var/lib/mcp-server-code-execution-mode', store), { recursive: true, force: true });
      }
    });

    it('refuses a denied dependency before anything is fetched, and records that', async () => {
      const rules = [{ effect: 'deny', package: 'tiny_*', version: '<2', reason: 'no tiny ones' }];
      const bridge = await start({}, rules);
      try {
        const { text } = await bridge.runPython('await runtime.install("tomli")');
        expect(text).toContain('POLICY_DENIED: nothing was installed: tiny-pkg 1.0, which tomli needs, may not be');
        expect(text).toContain('packages[0] of ');
        expect(text).toContain('(no tiny ones)');
        expect(index.requests.filter((request) => request.endsWith('.whl') && !request.includes('/pip-'))).toEqual([]);
        const records = await command(bridge.folder, 'audit', 'show');
        expect(records).toMatch(/did not install tomli: POLICY_DENIED, .*tiny-pkg 1\.0/);
        expect(await command(bridge.folder, 'policy', 'show')).toContain(
          'packages[0]  deny   package tiny_*, version <2 (no tiny ones)',
        );
        const before = index.requests.length;
        const denied = command(bridge.folder, 'policy', 'check', '--package', 'tiny-pkg==1.0');
        await expect(denied).rejects.toMatchObject({
          code: 77,
          stdout: expect.stringMatching(/^tiny-pkg==1\.0 {2}deny {2}packages\[0\] of /),
        });
        expect(await command(bridge.folder, 'policy', 'check', '--package', 'tabulate>=1')).toMatch(
          /^tabulate>=1 {2}allow {2}it is in the list of common packages\n$/,
        );
        expect(index.requests.slice(before)).toEqual([]);
      } finally {
        await bridge.close();
      }
    });

    it('fetches what the policy allows, and what it denies later is not used again', async () => {
      const bridge = await start({}, [{ effect: 'allow', package: 'rare*' }]);
      try {
        const first = await bridge.runPython('await runtime.install("rare-pkg")');
        expect(first.text).toContain('rare-pkg==1.0');
        expect(await command(bridge.folder, 'audit', 'show')).toContain('allowed by policy');
        writeFileSync(
          join(bridge.folder, 'policy.json'),
          JSON.stringify({ packages: [{ effect: 'deny', package: 'rare-pkg' }] }),
        );
        const other = await startBridge({ engine, env: { ...environment(), MCP_BRIDGE_STATE_DIR: bridge.folder } });
        try {
          expect((await other.runPython('await runtime.install("rare-pkg")')).text).toContain('POLICY_DENIED');
        } finally {
          await other.close();
        }
      } finally {
        await bridge.close();
      }
    });

    it('sends nothing of a request that no one has agreed to', async () => {
      const bridge = await start({}, [{ effect: 'ask', package: 'tomli' }]);
      try {
        const before = index.requests.length;
        for (const text of [
          'tabulate==1.0+c2VjcmV0',
          'tabulate===c2VjcmV0',
          'tabulate[secret]',
          "tabulate; platform_version == 'secret'",
          'tabulate @ https://example.org/secret.whl',
          'https://example.org/secret.whl',
          '--index-url=https://example.org/secret',
          'secret-in-a-name',
          'tomli',
        ]) {
          const { text: said } = await bridge.runPython(`await runtime.install(${JSON.stringify(text)})`);
          expect(said).toMatch(/APPROVAL_UNAVAILABLE|is not a requirement/);
        }
        const imported = await bridge.runPython('import secret_in_a_module');
        expect(imported.text).toContain('packages add secret-in-a-module');
        expect(index.requests.slice(before)).toEqual([]);
      } finally {
        await bridge.close();
      }
    });

    it('asks about a dependency that the policy names, once in a session, and not without end', async () => {
      const asked: string[] = [];
      let answer = true;
      const asking = await startAskingBridge({
        engine,
        era: '2025-11-25',
        servers: {},
        policy: { packages: [{ effect: 'ask', package: 'tiny-pkg' }] },
        env: environment(),
        person({ message }) {
          asked.push(message);
          return { action: 'accept', content: { install: answer } };
        },
      });
      try {
        expect(await asking.run('await runtime.install("tomli")')).toContain('tiny-pkg==1.0');
        expect(asked).toHaveLength(1);
        expect(asked[0]).toContain('    tiny-pkg==1.0  (needed by tomli)');
        answer = false;
        const before = index.requests.length;
        const flood = `said = set()
for number in range(${MAX_QUESTIONS_PER_SESSION + 5}):
    try:
        await runtime.install(f"name-{number}")
    except Exception as error:
        said.add((error.code, "which is the limit" in str(error)))
sorted(said)`;
        // A cell may ask ten times, so this takes several.
        await asking.run(flood);
        await asking.run(flood);
        await asking.run(flood);
        expect(await asking.run(flood)).toBe("[('APPROVAL_UNAVAILABLE', True)]");
        expect(asked.length).toBeLessThanOrEqual(MAX_QUESTIONS_PER_SESSION);
        expect(index.requests.slice(before)).toEqual([]);
      } finally {
        await asking.close();
      }
    });

    it('leaves fresh uploads alone, and says so', async () => {
      const bridge = await start({ MCP_BRIDGE_PACKAGES: 'any' });
      try {
        expect((await bridge.runPython('await runtime.install("fresh")')).text).toContain('fresh==1.0');
        const today = new Date().toISOString().slice(0, 10);
        for (const [text, version] of [
          ['newborn', '1.0'],
          ['fresh==2.0', '2.0'],
        ]) {
          const said = await bridge.runPython(`await runtime.install("${text}")`, { session: 'other' });
          expect(said.text).toContain(`no version of ${text} fits that was uploaded before `);
          expect(said.text).toContain(`uploaded since: ${version} (${today})`);
          expect(said.text).toContain('MCP_BRIDGE_PACKAGES_MIN_AGE');
        }
      } finally {
        await bridge.close();
      }
      const eager = await start({ MCP_BRIDGE_PACKAGES: 'any', MCP_BRIDGE_PACKAGES_MIN_AGE: '0' });
      try {
        expect((await eager.runPython('await runtime.install("fresh")')).text).toContain('fresh==2.0');
      } finally {
        await eager.close();
      }
    });

    it('says what to do if the index gives no upload times', async () => {
      index.answer = (request, response) => {
        const name = (request.url ?? '').split('/')[2] ?? '';
        response.setHeader('Content-Type', 'application/vnd.pypi.simple.v1+json');
        const filename = `${name.replaceAll('-', '_')}-99.0-py3-none-any.whl`;
        const file = { filename, url: `../../files/${filename}`, hashes: { sha256: '0'.repeat(64) } };
        response.end(JSON.stringify({ meta: { 'api-version': '1.0' }, name, files: [file] }));
      };
      const bridge = await start({ MCP_BRIDGE_PACKAGES: 'any' });
      try {
        const { text } = await bridge.runPython('await runtime.install("timeless")');
        expect(text).toContain('gives no upload times, so the minimum age of files cannot be checked');
        expect(text).toContain('MCP_BRIDGE_PACKAGES_MIN_AGE=0');
      } finally {
        index.answer = undefined;
        await bridge.close();
      }
    });

    it('shows the credentials of the index nowhere', async () => {
      const seen: string[] = [];
      const arrived = createDeferred<void>();
      index.add(makeWheel({ name: 'private-pkg' }));
      const held = index.hold(/private_pkg.*\.whl$/, arrived.resolve);
      const address = index.url.replace('://', `://me:${PASSWORD}@`);
      const env = { MCP_BRIDGE_PACKAGES: 'any', PIP_INDEX_URL: address, MCP_BRIDGE_LOG_LEVEL: 'DEBUG' };
      const bridge = await startBridge({
        engine,
        env: environment(env),
        onLog: (text) => seen.push(text),
        onMessage: (message) => seen.push(JSON.stringify(message)),
      });
      try {
        const onprogress = (progress: unknown) => seen.push(JSON.stringify(progress));
        const cell = bridge.runPython('await runtime.install("private-pkg")', {}, { onprogress });
        await arrived.promise;
        // The machine's processes include those of the builder.
        seen.push((await promisify(execFile)('ps', ['-eo', 'args'])).stdout);
        held.release();
        seen.push((await cell).text);
        expect(seen.at(-1)).toContain('private-pkg==1.0');
        index.answer = (_, response) => void response.writeHead(401).end('no');
        seen.push((await bridge.runPython('await runtime.install("forbidden-pkg")')).text);
        expect(seen.at(-1)).toContain('PACKAGE_UNAVAILABLE');
        index.answer = (_, response) => void response.writeHead(500).end('no');
        seen.push((await bridge.runPython('await runtime.install("broken-pkg")')).text);
        expect(seen.at(-1)).toContain('PACKAGE_UNAVAILABLE');
        index.answer = undefined;
        seen.push((await bridge.runPython('import os, subprocess\nprint(dict(os.environ))')).text);
        const settings = { ...process.env, ...engine.env, ...environment(env), MCP_BRIDGE_STATE_DIR: bridge.folder };
        for (const args of [['doctor'], ['doctor', '--json'], ['audit', 'show', '--json']]) {
          const options = { env: settings };
          const said = await promisify(execFile)(process.execPath, [CLI, ...args], options).catch((error: unknown) =>
            Object(error),
          );
          seen.push(String(said.stdout), String(said.stderr));
        }
        const files = readdirSync(bridge.folder, { recursive: true, withFileTypes: true });
        files
          .filter((file) => file.isFile())
          .forEach((file) => seen.push(readFileSync(join(file.parentPath, file.name), 'latin1')));
        const basic = Buffer.from(`me:${PASSWORD}`).toString('base64');
        expect(seen.filter((text) => text.includes(PASSWORD) || text.includes(basic))).toEqual([]);
      } finally {
        index.answer = undefined;
        await bridge.close();
      }
    });
  });
}
