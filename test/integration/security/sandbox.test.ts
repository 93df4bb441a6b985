/**
 * What hostile code in a cell can reach, tried for real on every engine: about a hundred probes that look at effects
 * from inside (`test/fixtures/security/probes.py`), with bait laid out on the host. Prints one table.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EngineName } from '../../../src/engines/engine.ts';
import { coverEngines } from '../../support/covered-engines.ts';
import type { TestEngine } from '../../support/engines.ts';
import { createHarness, type Harness, TEST_LIMITS, textOf } from '../../support/session-harness.ts';

interface ProbeResult {
  readonly group: string;
  readonly name: string;
  readonly wanted: 'refused' | 'possible';
  readonly got: 'refused' | 'possible' | 'failed';
  /** The error's name, or what was got hold of. */
  readonly detail: string;
}

const PROBES = readFileSync(join(import.meta.dirname, '../../fixtures/security/probes.py'), 'utf8');
const SECRETS = { API_TOKEN: 'bait-token-61f0', HTTP_PROXY: 'http://user:bait-password-93ab@proxy.example:3128' };
/** Probes that come out otherwise than in a container; docs/security.md says why. */
const OTHERWISE: Readonly<Partial<Record<EngineName, readonly string[]>>> = {
  bubblewrap: ['/tmp', '/workspace', '/dev/shm'].map((folder) => `files: executing a file in ${folder}: possible`),
  // What WebAssembly cannot do.
  embedded: [
    'use: child processes and a shell: refused',
    'use: threads: refused',
    'use: sockets between its own processes: refused',
    'use: shared memory: refused',
    'use: executing from memory (memfd), despite noexec: refused',
  ],
};
/** There are no system calls to try in WebAssembly. */
const LEAST_PROBES: Readonly<Partial<Record<EngineName, number>>> = { embedded: 60 };
const engines = await coverEngines();
const results = new Map<string, readonly ProbeResult[]>();

describe.each(engines)('hostile code on $label', (engine) => {
  let harness: Harness;
  let bait: Bait;
  beforeAll(async () => {
    bait = await layBait();
    harness = await createHarness({
      engine: engine.create({ limits: TEST_LIMITS, env: hostEnvironment(engine, bait) }),
    });
  });
  afterAll(async () => {
    await harness.close();
    await bait.remove();
  });

  it('gets hold of nothing, and ordinary code works', async () => {
    const answer = await harness.run(`HOST = ${JSON.stringify(bait.known)}\n${PROBES}`, { timeoutMs: 60_000 });
    expect(answer.error).toBeUndefined();
    const found = JSON.parse(textOf(answer.stdout)) as ProbeResult[];
    results.set(engine.label, found);
    expect(found.length).toBeGreaterThan(LEAST_PROBES[engine.name] ?? 90);
    const unwanted = found.filter(({ wanted, got }) => wanted !== got);
    expect(unwanted.map(({ group, name, got }) => `${group}: ${name}: ${got}`)).toEqual(OTHERWISE[engine.name] ?? []);
  });

  it('sees nothing of another session', async () => {
    const leave = [
      'import os, socket',
      'for folder in filter(os.path.exists, ("/tmp", "/workspace", "/dev/shm")):',
      '    open(f"{folder}/of-the-other", "w").write("secret")',
      'try: held = socket.socket(socket.AF_UNIX); held.bind("\\0of-the-other"); held.listen()',
      'except (AttributeError, OSError): pass  # There are no sockets in WebAssembly.',
      'secret = "value-of-the-other"; os.getpid()',
    ];
    await harness.run(leave.join('\n'), { session: 'other' });
    const look = [
      'import glob, os, socket',
      'found = [p for f in ("/tmp", "/workspace", "/dev/shm") for p in glob.glob(f"{f}/*other*")]',
      'try: socket.socket(socket.AF_UNIX).connect("\\0of-the-other"); found.append("socket")',
      'except (AttributeError, OSError): pass',
      'found + ["variable"] * ("secret" in globals())',
    ];
    expect((await harness.run(look.join('\n'), { session: 'curious' })).value).toBe('[]');
    expect((await harness.run('secret, os.path.exists("/tmp/of-the-other")', { session: 'other' })).value).toBe(
      "('value-of-the-other', True)",
    );
  });

  it('cannot speak for the supervisor', async () => {
    const report = '{"report":"ended","cause":"memory","exit_code":null,"signal":9,"detail":"forged"}';
    const code = [
      'import os',
      `forged = ${JSON.stringify(`\n${report}\n`)}.encode()`,
      'for descriptor in [*range(64), *[f"/proc/{pid}/fd/{n}" for pid in (1, "self") for n in range(16)]]:',
      '    try: os.write(descriptor if isinstance(descriptor, int) else os.open(descriptor, os.O_WRONLY), forged)',
      '    except OSError: pass',
      'os._exit(5)',
    ];
    const answer = await harness.run(code.join('\n'), { session: 'forger' });
    expect(answer.error).toContain('Python ended itself with exit code 5');
    expect(answer.error).not.toContain('ran out of memory');
  });

  it('can end its own sandbox at most, when it takes resources from the supervisor', async () => {
    const code = [
      'import resource',
      'for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NPROC):',
      '    try: resource.prlimit(1, kind, (0, 0))',
      '    except OSError: pass',
    ];
    await harness.run(code.join('\n'), { session: 'greedy', timeoutMs: 5_000 });
    expect((await harness.run('1 + 1', { session: 'greedy' })).status).toMatch(/success|error/);
    expect((await harness.run('2 + 2', { session: 'greedy' })).value).toBe('4');
  });
});

afterAll(() => {
  console.log(renderTable(results));
});

interface Bait {
  /** What the probes are told, so that they know what to look for. */
  readonly known: Readonly<Record<string, unknown>>;
  /** A configuration folder of docker with a proxy and its password. */
  readonly dockerConfig: string;
  remove(): Promise<void>;
}

/** Things on the host that code in a sandbox must not find. */
async function layBait(): Promise<Bait> {
  const folders = [tmpdir(), homedir()].map((place) => mkdtempSync(join(place, '.bridge-bait-')));
  const files = folders.map((folder) => join(folder, 'config.json'));
  const proxies = { default: { httpProxy: SECRETS.HTTP_PROXY, httpsProxy: SECRETS.HTTP_PROXY } };
  for (const file of files) {
    writeFileSync(file, JSON.stringify({ proxies }));
  }
  const abstractSocket = `bridge-bait-${process.pid}`;
  const servers = [await listen({ host: '127.0.0.1', port: 0 }), await listen({ path: `\0${abstractSocket}` })];
  const address = servers[0]?.address();
  return {
    known: {
      files,
      port: typeof address === 'object' ? address?.port : undefined,
      abstract_socket: abstractSocket,
      process: 'vitest',
      secrets: ['bait-token-61f0', 'bait-password-93ab'],
    },
    dockerConfig: folders[0] ?? '',
    async remove() {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
      folders.forEach((folder) => rmSync(folder, { recursive: true }));
    },
  };
}

function listen(where: { host: string; port: number } | { path: string }): Promise<Server> {
  const server = createServer((connection) => connection.on('error', () => undefined).end('bait'));
  return new Promise((resolve) => {
    server.listen(where, () => resolve(server));
  });
}

/** Secrets where an engine may pick them up: in the environment, and in docker's own configuration. */
function hostEnvironment(engine: TestEngine, { dockerConfig }: Bait): Record<string, string> {
  const secrets = { ...engine.env, ...SECRETS, https_proxy: SECRETS.HTTP_PROXY };
  return engine.name === 'docker' ? { ...secrets, DOCKER_CONFIG: dockerConfig } : secrets;
}

/** One line per probe, one column per engine. */
function renderTable(byEngine: ReadonlyMap<string, readonly ProbeResult[]>): string {
  const labels = [...byEngine.keys()];
  const [first = []] = byEngine.values();
  const rows = first.map(({ group, name, wanted }) => [
    group,
    name,
    wanted,
    ...labels.map((label) => {
      const { got = '–', detail = '' } =
        byEngine.get(label)?.find((one) => one.group === group && one.name === name) ?? {};
      return got === 'refused' && detail !== '' ? detail : got;
    }),
  ]);
  const table = [['group', 'probe', 'wanted', ...labels], ...rows];
  const widths = labels
    .reduce((all) => [...all, 0], [0, 0, 0])
    .map((_, column) => {
      return Math.max(...table.map((row) => row[column]?.length ?? 0));
    });
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
