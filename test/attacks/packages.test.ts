// Tags: full, bubblewrap, docker-release
/**
 * Attacks with packages: by code that asks for them, by wheels, and by an index. The index needs a password, which must reach no
 * one else. Python tests of the builder (`test/python/test_package_builder.py`) have what takes too long here.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createConnections } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { amount } from '../support/attacks.ts';
import { slowestBeside } from '../support/beside.ts';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines, coverPackageEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';
import { codeOf } from '../support/floods.ts';
import { type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { PATIENCE } from '../support/patience.ts';
import { makeWheel, makeZip, wheelOf } from '../support/wheels.ts';

const PASSWORD = 'pass-word-of-the-index';
const BASIC = Buffer.from(`ada:${PASSWORD}`).toString('base64');
const MAX_ANSWER_MS = 1_000 * PATIENCE;
const MIB = 1024 * 1024;
/** Builders fetch a pip if the image has none, or an old one: this one would run in each. */
const HOSTILE_PIP = makeWheel({
  name: 'pip',
  version: '99.0',
  files: { 'pip/__init__.py': '', 'pip/__main__.py': 'raise SystemExit("hostile pip")' },
});

for (const engine of await coverPackageEngines(await coverEngines())) {
  describe(`packages on ${engine.label}`, () => {
    attack(engine);
  });
}

function attack(engine: TestEngine): void {
  const store = `bridge-test-attacks-${randomUUID().slice(0, 8)}`;
  let index: PackageIndex;
  let bridge: BridgeClient;
  const run = async (code: string, session: string, timeout = 100) =>
    (await bridge.runPython(code, { session, timeout }, { timeout: 120_000 })).text;
  const install = (requirement: string) => run(`await runtime.install(${JSON.stringify(requirement)})`, 'attacker');
  /** Requests of the index while `work` runs. */
  const requestsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
    const before = index.requests.length;
    await work();
    return index.requests.slice(before);
  };
  /** Answers requests for `path` with `answer`, and others as always, until the test ends. */
  const serve = (path: RegExp, answer: (request: IncomingMessage, response: ServerResponse) => void): void => {
    index.hold(/^$/, () => undefined);
    const usual = index.answer;
    index.answer = (request, response) => (path.test(request.url ?? '') ? answer : usual)?.(request, response);
    onTestFinished(() => {
      index.answer = undefined;
    });
  };

  beforeAll(async () => {
    index = await startPackageIndex();
    index.add(makeWheel({ name: 'honest' }), makeWheel({ name: 'honest-too' }), HOSTILE_PIP);
    bridge = await startBridge({
      engine,
      env: {
        MCP_BRIDGE_PACKAGES: 'any',
        MCP_BRIDGE_PACKAGES_STORE: store,
        MCP_BRIDGE_PACKAGES_NETWORK: 'host',
        MCP_BRIDGE_TIMEOUT: '120',
        PIP_INDEX_URL: index.url.replace('//', `//ada:${PASSWORD}@`),
        PIP_CONFIG_FILE: '/dev/null',
        UV_NO_CONFIG: '1',
      },
    });
    await run('1', 'beside');
    await run('import honest', 'attacker');
  });
  afterAll(async () => {
    await bridge.close();
    await index.close();
    if (engine.isContainer) {
      await engine.run('volume', 'rm', '--force', store);
    } else {
      rmSync(join('/var/lib/mcp-server-code-execution-mode', store), { recursive: true, force: true });
    }
  });

  it('runs no pip that the index chooses', async () => {
    expect(await run('import honest\nhonest.name', 'attacker')).toBe("'honest'");
  });

  it('shows code no password of the index, and takes nothing but names and versions from it', async () => {
    const seen = await run(
      `import glob, os, sys
texts = [str(dict(os.environ))]
own = [path + '/**' for path in sys.path if path.startswith('/packages/')]
for path in sum([glob.glob(each, recursive=True) for each in ['/packages/**', *own]], []) + glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):
    if os.path.isfile(path):
        try:
            with open(path, 'rb') as file:
                texts.append(file.read().decode('latin-1'))
        except OSError:
            pass
[len(texts) > 5, *[word in text for text in texts for word in ('${PASSWORD}', '${BASIC}') if word in text]]`,
      'attacker',
    );
    expect(seen).toBe('[True]');
    const asked = await requestsOf(async () => {
      const hostile = [
        'x @ file:///etc/passwd',
        'x @ http://127.0.0.1/x.whl',
        '--index-url=http://127.0.0.1/',
        '-r/etc/passwd',
        'x\n--index-url=http://127.0.0.1/',
        '$PATH',
        'x ; python_version > "${HOME}"',
        'x'.repeat(1_000),
        '../../etc/passwd',
        'git+https://127.0.0.1/x',
      ];
      for (const requirement of hostile) {
        expect(await install(requirement)).toMatch(/CALL_REFUSED|INVALID/);
      }
      expect(await run('await runtime.install(*[f"x{n}" for n in range(65)])', 'attacker')).toMatch(
        /CALL_REFUSED|INVALID/,
      );
    });
    expect(asked).toEqual([]);
  });

  it('asks for nothing that a wheel requires by its address, and runs none of it', async () => {
    const heard: unknown[] = [];
    const ear = createConnections((socket) => {
      heard.push(socket.remotePort);
      socket.destroy();
    });
    await new Promise<void>((resolve) => ear.listen(0, resolve));
    onTestFinished(() => void ear.close());
    const { port } = ear.address() as AddressInfo;
    // pip builds such an archive in spite of --only-binary, with the password and the store at hand.
    const { origin } = new URL(index.url);
    const backend = `import urllib.request\nurllib.request.urlopen('${origin}/ran')\n`;
    const entry = (path: string, text: string) => ({ path: `evil-1.0/${path}`, content: Buffer.from(text) });
    const archive = makeZip([
      entry('pyproject.toml', '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'),
      entry('backend.py', backend),
    ]);
    const evil = { name: 'evil', version: '1.0', requiresPython: undefined };
    const wheel = makeWheel({ name: 'evil', version: '1.0' });
    index.add(
      wheelOf('evil-1.0.zip', archive, evil),
      wheel,
      makeWheel({ name: 'by-archive', requires: [`evil @ ${origin}/files/evil-1.0.zip`] }),
      makeWheel({ name: 'by-git', requires: [`evil @ git+${origin}/evil`] }),
      makeWheel({ name: 'by-file', requires: ['evil @ file:///etc/hostname'] }),
      makeWheel({
        name: 'by-port',
        requires: [`evil @ http://127.0.0.1:${port}/evil`, `evil @ https://[::1]:${port}/`],
      }),
      makeWheel({ name: 'by-wheel', requires: [`evil @ ${origin}/files/${wheel.filename}`] }),
    );
    const asked = await requestsOf(async () => {
      expect(await install('by-archive')).toContain('by its address, not as a wheel from the index');
      expect(await install('by-git')).toContain('not as a wheel from the index');
      // Neither may tell what this machine has.
      expect(await install('by-file')).toContain(
        "'file:///etc/hostname' by its address, not as a wheel from the index",
      );
      expect(await install('by-port')).toContain('by its address, not as a wheel from the index');
      expect(await install('by-wheel')).toContain('not as a wheel from the index');
    });
    expect(asked.filter((request) => /\/ran|\/evil(?:$|\/info)/.test(request))).toEqual([]);
    expect(heard).toEqual([]);
  });

  it('sends the password to no other host, and shows it to no one if the index repeats it', async () => {
    const got: string[] = [];
    const other = createServer((request, response) => {
      got.push(String(request.headers.authorization));
      response.end('not the wheel');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const target = `http://127.0.0.1:${(other.address() as AddressInfo).port}/x`;
    index.add(makeWheel({ name: 'moved' }), makeWheel({ name: 'repeated' }));
    const own: string[] = [];
    serve(/files\/(?:moved|repeated).*\.whl$/, ({ headers, url }, response) => {
      own.push(String(headers.authorization));
      if (url?.includes('moved')) {
        response.writeHead(302, { Location: target }).end();
      } else {
        response.writeHead(500, `no \x1b[2J ${String(headers.authorization)} ${PASSWORD}`.replace('\x1b', '')).end();
      }
    });
    expect(await install('moved')).toContain('SHA-256');
    expect(got).toEqual(['undefined']);
    const repeated = await install('repeated');
    expect(repeated).toContain('***');
    expect(repeated).not.toMatch(new RegExp(`${PASSWORD}|${BASIC}`));
    expect(own).toEqual([`Basic ${BASIC}`, `Basic ${BASIC}`]);
  });

  it('survives answers without end and compressed ones, and others notice nothing', async () => {
    const zeros = gzipSync(Buffer.alloc(64 * MIB));
    serve(/simple\/(?:endless|bomb)/, ({ url }, response) => {
      response.setHeader('Content-Type', 'application/vnd.pypi.simple.v1+json');
      if (url?.includes('bomb')) {
        response.setHeader('Content-Encoding', 'gzip');
        response.end(Buffer.concat(Array.from({ length: 64 }, () => zeros)));
        return;
      }
      const block = Buffer.alloc(MIB, ' ');
      const more = (): void => {
        while (!response.destroyed && response.write(block)) {
          // Until the connection is full.
        }
      };
      response.on('drain', more);
      more();
    });
    for (const name of ['endless', 'bomb']) {
      const installing = install(name);
      expect(await slowestBeside(bridge, installing)).toBeLessThan(MAX_ANSWER_MS);
      expect(await installing).toMatch(/PACKAGE_UNAVAILABLE/);
    }
    expect(await run('import honest\nhonest.name', 'attacker')).toBe("'honest'");
  });

  it('lets others install while a session asks for thousands and ends its cells', async () => {
    // Frames, because runtime.install() sends one request after the other.
    const count = amount(500, 5_000);
    const flood = (kind: string) =>
      codeOf({
        title: 'installations',
        kinds: [],
        code: `for number in range(${count}):
    params = {"requirements": [f"no-such-${kind}-{number}"]}
    send(encoded({"method": "install_packages", "params": params})[1:], next(numbers))
await until_ended(${count})`,
      });
    const asked = await requestsOf(async () => {
      const floods = (async () => {
        // Both end in the middle. What waits then goes on, and is limited for the session.
        await run(flood('a'), 'attacker', 3);
        await run(flood('b'), 'attacker', 5);
      })();
      const installing = run('import honest_too\nhonest_too.name', 'other');
      expect(await slowestBeside(bridge, floods)).toBeLessThan(MAX_ANSWER_MS);
      expect(await installing).toBe("'honest-too'");
      await floods;
    });
    expect(asked.filter((request) => request.includes('no-such')).length).toBeLessThan(200);
  });

  it('takes no word of a session about its Python: the lock of others stays', async () => {
    expect(await run('import honest\nhonest.version', 'attacker')).toBe("'1.0'");
    index.add(makeWheel({ name: 'honest', version: '2.0' }));
    const asked = await requestsOf(async () => {
      const lied = `import sys
sys.implementation.cache_tag = 'cpython-20'
frame = {"modules": [], "requirements": ["honest"], "is_gone": False, "set": None, "python": "cpython-20 linux none"}
import gc
for host in [each for each in gc.get_objects() if type(each).__name__ == 'Packages']:
    try:
        await host._host.call('install_packages', frame)
    except Exception as error:
        print(error)
await runtime.install('honest')`;
      await run(lied, 'liar');
      expect(await run('import honest\nhonest.version', 'later')).toBe("'1.0'");
    });
    expect(asked.filter((request) => request.includes('honest/'))).toEqual([]);
  });

  it('lets no session keep a set from others by its lock', async () => {
    const held = await run(
      `import fcntl, os, sys
held = [open(os.path.dirname(path) + '/lock') for path in sys.path if path.startswith('/packages/sets/')]
for file in held:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pass  # Used by another session.
len(held) > 0`,
      'attacker',
    );
    expect(held).toBe('True');
    expect(await run('import honest\nhonest.name', 'fresh')).toBe("'honest'");
  });
}
