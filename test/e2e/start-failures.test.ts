// Tags: full, docker, user
/**
 * If the bridge cannot work, the client's log has the one line of `doctor` that says why, and the answer to the client has the same
 * text.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Finding, renderLine } from '../../src/edges/terminal/finding.ts';
import { CLI, ROOT } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { findProcesses } from '../support/sandbox.ts';

type Environment = Readonly<Record<string, string>>;

const DEAD = join(ROOT, 'test/fixtures/engines/dead');
const NO_REGISTRY = join(ROOT, 'test/fixtures/engines/no-registry');
const HANGING = join(ROOT, 'test/fixtures/engines/hanging/podman');
const engine = (await coverEngines()).find(({ name }) => name === 'podman');
let home = '';

const notCovered = engine === undefined ? 'not covered: needs podman: ' : '';

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'start-'));
  onTestFinished(() => rm(home, { recursive: true }));
});

const requests = (servers: readonly string[]) => [
  {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/call', params: { name: 'run_python', arguments: { code: '1', servers } } },
];

function linesOf(messages: readonly object[]): string {
  return messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');
}

interface Served {
  readonly log: string;
  /** Text of the answer to the cell; empty if there was none. */
  readonly answer: string;
  readonly exitCode: number | null;
}

/** Rootless podman has its images in the home of the user who runs the tests; the state there is not ours. */
function inHome(env: Environment): Environment {
  return { HOME: home, MCP_BRIDGE_STATE_DIR: join(home, 'MCPs'), ...env };
}

/** Serves one client that runs one cell and disconnects after the answer. */
async function serve(
  env: Environment,
  nodeArguments: readonly string[] = [],
  servers: readonly string[] = [],
): Promise<Served> {
  const child = spawn(process.execPath, [...nodeArguments, CLI], { env: inHome(env) });
  const exited = once(child, 'close') as Promise<[number | null]>;
  const log = text(child.stderr);
  let out = '';
  child.stdin.on('error', () => undefined);
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    out += part;
    if (/"id":2[^0-9].*\n/.test(out)) {
      child.stdin.end();
    }
  });
  child.stdin.write(linesOf(requests(servers)));
  const [exitCode] = await exited;
  const line = out.split('\n').find((one) => one.includes('"id":2')) ?? '{}';
  const { result } = JSON.parse(line) as { result?: { content: { text: string }[] } };
  return { log: await log, answer: result?.content[0]?.text ?? '', exitCode };
}

async function runDoctor(env: Environment): Promise<{ readonly stdout: string; readonly exitCode: number | null }> {
  const child = spawn(process.execPath, [CLI, 'doctor', '--json', '--no-servers'], { env: inHome(env) });
  const exited = once(child, 'close') as Promise<[number | null]>;
  return { stdout: await text(child.stdout), exitCode: (await exited)[0] };
}

async function findings(env: Environment): Promise<Finding[]> {
  return (JSON.parse((await runDoctor(env)).stdout) as { findings: Finding[] }).findings;
}

/** The lines of a log that come from `doctor`. */
function doctorLines(log: string): string[] {
  return [...log.matchAll(/^\S+ ERROR (.*)$/gm)].map(([, line = '']) => line);
}

function problemsIn(found: readonly Finding[], section: Finding['section']): Finding[] {
  return found.filter((finding) => finding.section === section && finding.level === 'problem');
}

describe('no session can start', () => {
  async function compare(env: Environment): Promise<{ finding: Finding; answer: string }> {
    const { answer, log } = await serve(env);
    const finding = problemsIn(await findings(env), 'engines').at(-1);
    expect(doctorLines(log)).toEqual([finding === undefined ? '' : renderLine(finding)]);
    const [, words] = /^no cell can run: (.*)$/.exec(finding?.text ?? '') ?? [];
    expect(answer).toContain(`${finding?.code}: ${words}\nHint: ${finding?.hint}`);
    return { finding: finding as Finding, answer };
  }

  it('because no engine is installed', async () => {
    const { finding } = await compare({ PATH: '', MCP_BRIDGE_RUNTIME: 'container' });
    expect(renderLine(finding)).toBe(
      'no cell can run: no engine can be used (podman is not on PATH; docker is not on PATH) → ' +
        'Install Podman (https://podman.io/docs/installation) or Docker (https://docs.docker.com/engine/install/).',
    );
  });

  it('because no installed engine responds', async () => {
    const { finding } = await compare({ PATH: DEAD, MCP_BRIDGE_RUNTIME: 'container' });
    expect(finding.text).toMatch(/no engine can be used \(podman does not answer: .*; docker does not answer: /);
    await compare({ PATH: DEAD, MCP_BRIDGE_RUNTIME: 'podman' });
  });

  it.runIf(engine)(`${notCovered}because the image is missing and may not be pulled`, async () => {
    const env = { ...engine?.env, MCP_BRIDGE_IMAGE: 'registry.invalid/none:1', MCP_BRIDGE_PULL: 'never' };
    expect((await compare(env)).finding).toMatchObject({
      text: 'no cell can run: the image registry.invalid/none:1 is not on this machine (podman)',
      hint: 'Run: podman pull registry.invalid/none:1',
    });
  });

  it.runIf(engine)(`${notCovered}because the image is missing and cannot be pulled`, async () => {
    const env = { ...engine?.env, MCP_BRIDGE_IMAGE: 'registry.invalid/none:1', MCP_BRIDGE_PULL: 'missing' };
    const { finding } = await compare(env);
    expect(finding.text).toMatch(
      /^no cell can run: podman could not pull registry\.invalid\/none:1: .*registry\.invalid/,
    );
    expect(finding.hint).toBe('Check the network, then run: podman pull registry.invalid/none:1');
  });
});

// `doctor` found no problem and exited with 0, while no cell could run; and an engine that works was never named.
describe('the image cannot be pulled, and a weaker engine works', () => {
  const env = { PATH: `${NO_REGISTRY}:/bin:/usr/bin`, DOCKER_HOST: 'unix:///nonexistent.sock' };

  it('the weaker engine and the one setting are named, and it is not used', async () => {
    const { answer, log } = await serve(env);
    const { exitCode, stdout } = await runDoctor(env);
    const { findings: found, runs } = JSON.parse(stdout) as { findings: Finding[]; runs: string | null };
    expect({ exitCode, runs }).toEqual({ exitCode: 69, runs: null });
    const finding = problemsIn(found, 'engines').at(-1);
    expect(finding?.code).toBe('IMAGE_MISSING');
    expect(finding?.hint).toMatch(
      /^Check the network, then run: podman pull \S+ \(or set MCP_BRIDGE_RUNTIME=(bubblewrap|embedded), which works here, but isolates less: .+\)$/,
    );
    expect(answer).toContain(`Hint: ${finding?.hint}`);
    expect(doctorLines(log)).toEqual([renderLine(finding as Finding)]);
  });

  it('the weaker engine is named too if nothing may be pulled', async () => {
    const { answer } = await serve({ ...env, MCP_BRIDGE_PULL: 'never' });
    expect(answer).toMatch(/Hint: Run: podman pull \S+ \(or set MCP_BRIDGE_RUNTIME=\w+, which works here/);
  });

  it('no weaker engine is named to who allows only containers', async () => {
    const { answer } = await serve({ ...env, MCP_BRIDGE_RUNTIME: 'container' });
    expect(answer).toContain('IMAGE_MISSING');
    expect(answer).not.toContain('MCP_BRIDGE_RUNTIME');
  });
});

it.runIf(engine)(`${notCovered}doctor pulls the image as the first cell would`, async () => {
  const path = `${join(ROOT, 'test/fixtures/engines/pulling')}:${process.env['PATH'] ?? ''}`;
  const env = { PATH: path, CONTAINER_FAKE_STATE: home, MCP_BRIDGE_PACKAGES: 'off' };
  const { exitCode, stdout } = await runDoctor({ ...engine?.env, ...env });
  expect(await readdir(home)).toContain('pulled');
  expect(stdout).toContain('a session starts on podman');
  expect(exitCode).toBe(0);
});

describe('problems that do not prevent a session from starting', () => {
  const EMBEDDED = { PATH: process.env['PATH'] ?? '', MCP_BRIDGE_RUNTIME: 'embedded' };

  it('a read-only state directory', async () => {
    const stateDir = join(home, 'file');
    await writeFile(stateDir, '');
    const env = { ...EMBEDDED, MCP_BRIDGE_STATE_DIR: stateDir };
    const { answer, log } = await serve(env);
    const [finding] = problemsIn(await findings(env), 'machine');
    expect(finding?.text).toBe(`the state directory ${stateDir} cannot be used: it is a file, not a directory`);
    expect(doctorLines(log)).toContain(renderLine(finding as Finding));
    expect(answer).toContain('1');
  });

  it('invalid server files', async () => {
    const stateDir = join(home, 'MCPs');
    await mkdir(stateDir);
    await writeFile(join(stateDir, 'a.json'), '{"mcpServers": ');
    await writeFile(join(stateDir, 'b.json'), '{"mcpServers": {"b": {"comand": "x"}}}');
    const { log } = await serve(EMBEDDED);
    const found = problemsIn(await findings(EMBEDDED), 'servers');
    expect(found.map(({ text: words }) => words)).toEqual([
      expect.stringMatching(/a\.json is not JSON/),
      expect.stringMatching(/b\.json: mcpServers\.b\.comand is not a known key\. Did you mean 'command'/),
    ]);
    expect(doctorLines(log)).toEqual(found.map(renderLine));
    const { answer } = await serve(EMBEDDED, [], ['b']);
    expect(answer).toContain("`servers` names 'b', but no server is configured.");
    expect(answer).toContain(found[1]?.text);
  });
});

it.runIf(engine)(
  `${notCovered}a sandbox that does not get the descriptor of its pipe is started again with stdin and stdout`,
  async () => {
    const path = `${join(ROOT, 'test/fixtures/engines/lost-descriptor')}:${process.env['PATH'] ?? ''}`;
    const { answer, log } = await serve({ ...engine?.env, PATH: path });
    expect(answer).toContain('1');
    expect(log).toContain('podman refuses --preserve-fds; omitted from the next start');
    expect(log.match(/starting the sandbox again/g)).toHaveLength(1);
  },
);

describe('a bridge that ends while its engine hangs', () => {
  it('answers its cell, and ends what checks the engine', async () => {
    const folder = join(home, 'bin');
    await mkdir(folder);
    await copyFile(HANGING, join(folder, 'podman'));
    const processes = (command: 'run' | 'ps') => findProcesses(`${join(folder, 'podman')} ${command}`);
    // The client that starts the sandbox outlives the bridge: killing a start that only takes long leaves its container behind.
    onTestFinished(() => processes('run').forEach((pid) => process.kill(pid, 'SIGKILL')));
    const path = `${folder}:${process.env['PATH'] ?? ''}`;
    const bridge = spawn(process.execPath, [CLI], { env: inHome({ PATH: path, MCP_BRIDGE_RUNTIME: 'podman' }) });
    const exited = once(bridge, 'exit');
    let out = '';
    bridge.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    bridge.stderr.resume();
    bridge.stdin.write(linesOf(requests([])));
    await expect.poll(() => processes('ps'), { timeout: 20_000 }).not.toEqual([]);
    bridge.kill('SIGTERM');
    await exited;
    expect(out).toContain('CELL_CANCELLED: the bridge is shutting down');
    // They got SIGKILL, but a busy kernel may need a moment.
    await expect.poll(() => processes('ps')).toEqual([]);
  });
});

describe('the bridge does not start', () => {
  it('because of invalid settings', async () => {
    const env = { PATH: '', MCP_BRIDGE_RUNTIME: 'container', MCP_BRIDGE_TIMEOUT: 'soon', MCP_BRIDGE_MEMORY: '1' };
    const { exitCode, log } = await serve(env);
    const found = problemsIn(await findings(env), 'settings');
    expect(found).toHaveLength(2);
    expect(doctorLines(log)).toEqual(found.map(renderLine));
    expect(log.trimEnd().split('\n')).toHaveLength(2);
    expect(exitCode).toBe(78);
  });

  it('because Node is too old', async () => {
    const old = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } })`;
    const { exitCode, log } = await serve({ PATH: '' }, [
      '--import',
      `data:text/javascript,${encodeURIComponent(old)}`,
    ]);
    expect(log).toMatch(
      /^\S+ ERROR Node 18\.20\.8 is too old; the bridge needs 20\.19 or newer → Install Node 20\.19 .*\n$/,
    );
    expect(exitCode).toBe(78);
  });
});

// Each session repeated which engines the machine does not have, and each start what an engine lacks.
it('what is true of the machine is said once a day, and by doctor each time', async () => {
  const env = { PATH: home };
  const weaker = 'embedded runs this session, which is weaker than a container';
  expect((await serve(env)).answer).toContain(weaker);
  expect((await serve(env)).answer).not.toContain(weaker);
  const unwritable = { ...env, MCP_BRIDGE_STATE_DIR: join(home, 'a file/MCPs') };
  await writeFile(join(home, 'a file'), '');
  expect((await serve(unwritable)).answer).toContain(weaker);
  expect((await serve(unwritable)).answer).toContain(weaker);
  for (let time = 0; time < 2; time += 1) {
    expect((await findings(env)).map(({ text: words }) => words)).toContainEqual(
      expect.stringContaining('docker is not on PATH'),
    );
  }
});
