// Tags: full, bubblewrap
/** Packages that arrive in a running session, from a real index on this machine, with the built command and a real client. */

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDeferred } from '../../src/core/base/deferred.ts';
import { PID_LABEL, SESSION_LABEL } from '../../src/edges/engines/container/labels.ts';
import { startAskingBridge } from '../support/asking-bridge.ts';
import { type BridgeClient, CLI, startBridge } from '../support/bridge-client.ts';
import { coverEngines, coverPackageEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';
import { type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { descendantsOf } from '../support/processes.ts';
import { makeWheel, makeZip, wheelOf } from '../support/wheels.ts';

const covered = await coverEngines();
// The embedded engine needs no pip.
const engines = [...(await coverPackageEngines(covered)), ...covered.filter(({ name }) => name === 'embedded')];

for (const engine of engines) {
  describe(`packages on ${engine.label}`, () => {
    const store = `bridge-test-packages-${randomUUID().slice(0, 8)}`;
    let index: PackageIndex;
    let bridge: BridgeClient;
    let sessions = 0;
    const environment = () => ({
      MCP_BRIDGE_PACKAGES: 'any',
      MCP_BRIDGE_PACKAGES_STORE: store,
      MCP_BRIDGE_PACKAGES_NETWORK: 'host',
      MCP_BRIDGE_TIMEOUT: '120',
      PIP_INDEX_URL: index.url,
      // No other index of this machine.
      PIP_CONFIG_FILE: '/dev/null',
      UV_NO_CONFIG: '1',
    });
    const start = (env: Record<string, string> = {}) => startBridge({ engine, env: { ...environment(), ...env } });
    const run = async (code: string, session?: string) => {
      const { structured, text } = await bridge.runPython(code, session === undefined ? {} : { session });
      return { text, result: structured['result'] };
    };
    const newSession = () => `s${(sessions += 1)}`;

    beforeAll(async () => {
      index = await startPackageIndex({ hasPip: engine.name !== 'embedded' });
      index.add(
        makeWheel({ name: 'tiny-pkg' }),
        makeWheel({ name: 'tiny-pkg', version: '2.0' }),
        makeWheel({ name: 'needs-tiny', requires: ['tiny-pkg<2'] }),
        makeWheel({ name: 'needs-tiny-2', requires: ['tiny-pkg>=2'] }),
        makeWheel({ name: 'python-slugify', files: { 'slugify/__init__.py': 'made_by = "the test"\n' } }),
        { ...makeWheel({ name: 'changed' }), promisedSha256: '0'.repeat(64) },
        makeWheel({ name: 'fresh', version: '1.0' }),
        { ...makeWheel({ name: 'fresh', version: '2.0' }), uploadedAt: new Date() },
        { ...makeWheel({ name: 'newborn' }), uploadedAt: new Date() },
        makeWheel({ name: 'elsewhere', tag: 'cp27-cp27m-win32' }),
        makeWheel({
          name: 'with-pth',
          files: { 'with_pth/__init__.py': '', 'with_pth.pth': "import os; os.environ['PTH'] = 'ran'\n" },
        }),
        hostileWheel('escaping', { path: '../../../escaped.py' }),
        hostileWheel('linked', { path: 'linked/passwd', mode: 0o120777 }),
      );
      bridge = await start();
    });
    afterAll(async () => {
      await bridge.close();
      await index.close();
      if (engine.isContainer) {
        await engine.run('volume', 'rm', '--force', store);
      } else {
        // Where the stores of a bridge that runs as root are; others are in the state directory, which is removed.
        rmSync(join('/var/lib/mcp-server-code-execution-mode', store), { recursive: true, force: true });
      }
    });

    it('fetches what a cell imports, and the same cell goes on with its variables', async () => {
      const session = newSession();
      await run('kept = 41', session);
      expect((await run('import tiny_pkg\ntiny_pkg.name, tiny_pkg.version, kept + 1', session)).text).toBe(
        "('tiny-pkg', '2.0', 42)",
      );
    });

    it('asks no network for what another session has fetched', async () => {
      const before = index.requests.length;
      expect((await run('import tiny_pkg\ntiny_pkg.version', newSession())).text).toBe("'2.0'");
      expect(index.requests.slice(before)).toEqual([]);
    });

    it('knows modules with another name, and takes dependencies along', async () => {
      expect((await run('import slugify\nslugify.made_by', newSession())).text).toBe("'the test'");
      const code = 'import needs_tiny, tiny_pkg\nneeds_tiny.version, tiny_pkg.version';
      expect((await run(code, newSession())).text).toBe("('1.0', '1.0')");
    });

    it.each([
      ['runtime.install', 'await runtime.install("tiny-pkg<2")\n'],
      ['%pip', '%pip install -q "tiny-pkg<2"\n'],
      ['!pip', '!pip install "tiny-pkg<2"  # as in a notebook\n'],
      ['a script header', '# /// script\n# requires-python = ">=3.10"\n# dependencies = ["tiny-pkg<2"]\n# ///\n'],
    ])('takes the version that %s states', async (_, first) => {
      expect((await run(`${first}import tiny_pkg\ntiny_pkg.version`, newSession())).text).toBe("'1.0'");
    });

    it('adds packages to a session that has some, and keeps their versions', async () => {
      const session = newSession();
      await run('import tiny_pkg\nfirst = tiny_pkg', session);
      const code = 'import slugify, tiny_pkg\nfirst is tiny_pkg, tiny_pkg.version, slugify.made_by';
      expect((await run(code, session)).text).toBe("(True, '2.0', 'the test')");
      const { text } = await run('await runtime.install("needs-tiny")', session);
      expect(text).toContain('PACKAGE_UNAVAILABLE');
      expect(text).toMatch(/tiny-pkg/);
      expect((await run('tiny_pkg.version, slugify.made_by', session)).text).toBe("('2.0', 'the test')");
    });

    it.each([
      ['a conflict', 'needs-tiny", "needs-tiny-2', /Cannot install|depends on tiny-pkg|requires tiny-pkg/],
      ['an unknown name', 'no-such-package', /no wheel of no-such-package/],
      ['a version that does not exist', 'tiny-pkg>=9', /tiny-pkg>=9/],
      ['a changed file', 'changed', /changed/],
      ['a fresh upload', 'newborn', /newborn/],
      ['no wheel for this Python', 'elsewhere', /elsewhere/],
      ['a wheel that leaves its folder', 'escaping', /escaping-1.0.*unusable name '\.\.\/\.\.\/\.\.\/escaped\.py'/],
      ['a wheel with a link', 'linked', /linked-1.0.*not a regular file/],
    ])('reports %s in two lines and installs nothing', async (_, requirement, reason) => {
      // One session for all: nothing is installed in it.
      const session = 'unharmed';
      await run('kept = 1', session);
      const { text } = await run(`await runtime.install("${requirement}")`, session);
      expect(text).toMatch(reason);
      expect(text).toContain('PACKAGE_UNAVAILABLE: ');
      expect((await run("import sys\nkept, [p for p in sys.path if p.startswith('/packages')]", session)).text).toBe(
        '(1, [])',
      );
    });

    it('leaves fresh uploads alone and takes the version before', async () => {
      expect((await run('import fresh\nfresh.version', newSession())).text).toBe("'1.0'");
    });

    it('runs nothing of a .pth file', async () => {
      const code = "import os, with_pth\nos.environ.get('PTH')\nprint(os.environ.get('PTH'))";
      expect((await run(code, newSession())).text).toBe('None');
    });

    it('leaves an import alone that the code can do without', async () => {
      const before = index.requests.length;
      const code = 'try:\n    import other_pkg\nexcept ImportError:\n    other_pkg = None\nprint(other_pkg)';
      expect((await run(code, newSession())).text).toBe('None');
      expect(index.requests.slice(before)).toEqual([]);
    });

    it('serves two sessions at once, with the same packages and with others', async () => {
      index.add(makeWheel({ name: 'at-once-a' }), makeWheel({ name: 'at-once-b' }));
      const [one, two, three] = await Promise.all(
        ['at_once_a', 'at_once_a', 'at_once_b'].map((name) => run(`import ${name}\n${name}.name`, newSession())),
      );
      expect([one?.text, two?.text, three?.text]).toEqual(["'at-once-a'", "'at-once-a'", "'at-once-b'"]);
      const fetched = index.requests.filter((request) => /\/files\/at_once_a.*\.whl$/.test(request));
      expect(fetched).toHaveLength(1);
    });

    it.skipIf(engine.name === 'embedded')('cannot be written by a session', async () => {
      const code = `import os, tiny_pkg
def attempt(work):
    try:
        work()
    except OSError as error:
        return error.strerror
places = [os.path.dirname(tiny_pkg.__file__), '/packages', '/packages/sets']
print({attempt(lambda: open(place + '/x', 'w')) for place in places})
print(attempt(lambda: os.listdir('/packages/tmp')))`;
      const { text } = await run(code, newSession());
      expect(text).toMatch(/^\{'Read-only file system'\}\n(?:Permission denied|No such file or directory)$/);
    });

    it('looks up no name outside the list without consent', async () => {
      const cautious = await start({ MCP_BRIDGE_PACKAGES: 'common' });
      try {
        const before = index.requests.length;
        const refused = await cautious.runPython('import secret_in_a_name');
        expect(refused.text).toContain("ModuleNotFoundError: No module named 'secret_in_a_name'");
        expect(refused.text).toContain('not in the list of common packages');
        expect(refused.text).toContain('MCP_BRIDGE_PACKAGES=any');
        const stated = await cautious.runPython('await runtime.install("python-slugify", "secret-in-a-name")');
        expect(stated.text).toContain('APPROVAL_UNAVAILABLE');
        expect(index.requests.slice(before)).toEqual([]);
        expect((await cautious.runPython('import slugify\nslugify.made_by')).text).toBe("'the test'");
      } finally {
        await cautious.close();
      }
    });

    it('asks the person about a name outside the list, and does what the person says', async () => {
      const asked: string[] = [];
      let answer = false;
      const asking = await startAskingBridge({
        engine,
        era: '2026-07-28',
        servers: {},
        env: { ...environment(), MCP_BRIDGE_PACKAGES: 'common' },
        person(question) {
          asked.push(question.message);
          return { action: 'accept', content: { install: answer } };
        },
      });
      try {
        const before = index.requests.length;
        expect(await asking.run('import needs_tiny')).toContain('the user was asked and did not allow it');
        expect(index.requests.slice(before)).toEqual([]);
        answer = true;
        expect(await asking.run('import needs_tiny, tiny_pkg\ntiny_pkg.version')).toBe("'1.0'");
        expect(asked[0]).toContain('    needs-tiny');
        expect(asked[1]).toContain('    needs-tiny\n    tiny-pkg');
      } finally {
        await asking.close();
      }
    });

    it('has from the start what MCP_BRIDGE_PREINSTALL names, and its dependencies', async () => {
      const ready = await start({ MCP_BRIDGE_PACKAGES: 'off', MCP_BRIDGE_PREINSTALL: 'needs-tiny,fresh==1.0' });
      try {
        expect((await ready.runPython('import needs_tiny\nneeds_tiny.version')).text).toBe("'1.0'");
        const before = index.requests.length;
        const code = 'import tiny_pkg, fresh\ntiny_pkg.version, fresh.version';
        expect((await ready.runPython(code, { session: 'other' })).text).toBe("('1.0', '1.0')");
        const { text } = await ready.runPython('import slugify');
        expect(text).toContain('MCP_BRIDGE_PACKAGES is off');
        expect(index.requests.slice(before)).toEqual([]);
      } finally {
        await ready.close();
      }
    });

    // The answer said to install what the machine could not, while PyPDF2 was there.
    it('names what is installed for the same purpose, and advises no installation if no index answers', async () => {
      const cut = await start({ PIP_INDEX_URL: 'http://127.0.0.1:9/simple' });
      try {
        const said = async (code: string) => (await cut.runPython(code)).text;
        await said('open("PyPDF2.py", "w").close()');
        const here = 'PyPDF2 is installed here for the same purpose\\.';
        expect(await said('import pypdf')).toMatch(new RegExp(`named 'pypdf': ${here} Otherwise: .*127\\.0\\.0\\.1`));
        expect(await said('await runtime.install("pypdf")')).toMatch(new RegExp(`127\\.0\\.0\\.1[^]*Hint: .*${here}`));
        const handled = 'try:\n    import tiny_pkg\nexcept ImportError as error:\n    print(error)';
        expect(await said(handled)).toMatch(/'tiny_pkg': it cannot be installed now \(.*127\.0\.0\.1.*\)/);
      } finally {
        await cut.close();
      }
    });

    it('goes on fetching if the deadline of the cell ends first, and the next cell has it', async () => {
      index.add(makeWheel({ name: 'slow-pkg' }));
      const arrived = createDeferred<void>();
      const held = index.hold(/slow_pkg-1.0-py3-none-any.whl$/, arrived.resolve);
      const session = newSession();
      await run('kept = 1', session);
      const cell = bridge.runPython('import slow_pkg', { session, timeout: 15 }, { timeout: 120_000 });
      await arrived.promise;
      const { structured } = await cell;
      expect(structured['status']).toBe('timeout');
      held.release();
      expect((await run('import slow_pkg\nslow_pkg.name, kept', session)).text).toBe("('slow-pkg', 1)");
    });

    it.skipIf(engine.name === 'embedded')(
      'reports a killed builder, leaves nothing half-installed, and works again',
      async () => {
        index.add(makeWheel({ name: 'killed-pkg' }));
        const arrived = createDeferred<void>();
        const held = index.hold(/killed_pkg-1.0-py3-none-any.whl$/, arrived.resolve);
        const session = newSession();
        await run('kept = 1', session);
        const cell = run('await runtime.install("killed-pkg")', session);
        await arrived.promise;
        await killBuilder(engine, bridge.pid);
        expect((await cell).text).toContain('the builder ended');
        held.release();
        expect((await run('import killed_pkg\nkilled_pkg.name, kept', session)).text).toBe("('killed-pkg', 1)");
      },
    );

    it('survives an index that is down, and one that answers rubbish', async () => {
      const session = newSession();
      await run('kept = 1', session);
      index.answer = (_, response) => void response.destroy();
      const down = await run('await runtime.install("index-down")', session);
      expect(down.text).toMatch(/PACKAGE_UNAVAILABLE/);
      const requests = index.requests.length;
      expect((await run('await runtime.install("index-down")', session)).text).toContain('PACKAGE_UNAVAILABLE');
      expect(index.requests.length).toBe(requests);
      index.answer = (_, response) => void response.end('<html>Sign in to the Wi-Fi');
      const rubbish = await run('await runtime.install("index-rubbish")', session);
      expect(rubbish.text).toMatch(/PACKAGE_UNAVAILABLE/);
      index.answer = undefined;
      expect((await run('import tiny_pkg\ntiny_pkg.version, kept', session)).text).toBe("('2.0', 1)");
    });

    it('records each installation', async () => {
      const env = { ...process.env, MCP_BRIDGE_STATE_DIR: bridge.folder };
      const { stdout } = await promisify(execFile)(process.execPath, [CLI, 'audit', 'show', '--json'], { env });
      const first = stdout.split('\n').find((line) => line.includes('"packages_installed"'));
      expect(JSON.parse(first ?? '{}').record).toMatchObject({
        allowed_by: 'setting',
        packages: [expect.stringMatching(/^tiny-pkg==2\.0 sha256:[0-9a-f]{64}$/)],
      });
    });
  });
}

/** Kills what runs the builder, as the machine would if memory ran out. */
async function killBuilder(engine: TestEngine, bridgePid: number): Promise<void> {
  if (engine.isContainer) {
    const labels = [`${PID_LABEL}=${bridgePid}`, `${SESSION_LABEL}=packages`].map((label) => `--filter=label=${label}`);
    const { stdout } = await engine.run('ps', '--quiet', ...labels);
    await engine.run('kill', '--signal=KILL', stdout.trim());
    return;
  }
  const builders = descendantsOf(bridgePid).filter((pid) => commandLine(pid).includes('--dry-run'));
  builders.forEach((pid) => process.kill(pid, 'SIGKILL'));
}

/** Of a process that may have ended. */
function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** A wheel with one more file, which no tool would make. */
function hostileWheel(name: string, hostile: { path: string; mode?: number }) {
  const info = `${name}-1.0.dist-info`;
  const file = (path: string, text: string) => ({ path, content: Buffer.from(text) });
  const metadata = `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`;
  const bytes = makeZip([
    file(`${name}/__init__.py`, ''),
    file(`${info}/METADATA`, metadata),
    file(`${info}/WHEEL`, 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n'),
    file(`${info}/RECORD`, ''),
    { ...hostile, content: Buffer.from('/etc/passwd') },
  ]);
  const facts = { name, version: '1.0', requiresPython: undefined };
  return { ...wheelOf(`${name}-1.0-py3-none-any.whl`, bytes, facts), metadata };
}
