// Tags: bubblewrap, user, cluster-last
/**
 * What is special about Pods: how they are set up, why they do not start, and that none outlives its bridge. The session suite and
 * attacks run on this engine, too (`MCP_BRIDGE_TEST_ENGINES=kubernetes`).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createDeferred } from '../../../src/core/base/deferred.ts';
import type { KubernetesOptions } from '../../../src/edges/engines/kubernetes/kubernetes.ts';
import { configuredAs, isDeleted, tokenOf, until, withToken } from '../../support/cluster.ts';
import { coverEngines } from '../../support/covered-engines.ts';
import { readFences } from '../../support/documented-samples.ts';
import type { TestEngine } from '../../support/engines.ts';
import { containersOf, findProcesses, startOwner } from '../../support/sandbox.ts';
import { createHarness, errorText, type Harness, TEST_LIMITS, textOf } from '../../support/session-harness.ts';

/** Folder of the running cluster, with process ids and the socket of containerd. */
const clusterFolder = process.env['KUBE_DIR'] ?? '';
/** No Pod may outlive its bridge by more than this. */
const OUTLIVES_MS = 60_000;

const kubernetes = (await coverEngines()).find(({ name }) => name === 'kubernetes');

describe.runIf(kubernetes !== undefined)('a Pod', () => {
  const engine = kubernetes as TestEngine;
  const instanceId = `facts-${process.pid}`;
  let harness: Harness;
  beforeAll(async () => {
    harness = await createHarness({ engine: engine.create({ limits: TEST_LIMITS, instanceId }) });
  });
  afterAll(() => harness.close());
  const print = async (code: string) => {
    const answer = await harness.run(code, { timeoutMs: 60_000 });
    expect(errorText(answer)).toBe('');
    return textOf(answer.stdout).trim();
  };

  it('runs code as nobody, without privileges, and with a read-only root', async () => {
    const status = await print('print(open("/proc/self/status").read())');
    expect(status).toMatch(/^Uid:\s+65534\s+65534\s+65534\s+65534$/m);
    expect(status).toMatch(/^CapBnd:\s+0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(status).toMatch(/^Seccomp:\s+2$/m);
    const places = '["/", "/usr", "/run", "/var/tmp", "/etc/hosts", "/tmp", "/workspace"]';
    expect(await print(`import os\nprint([p for p in ${places} if os.access(p, os.W_OK)])`)).toBe(
      "['/tmp', '/workspace']",
    );
    expect(await print('print(os.path.exists("/var/run/secrets"), [n for n in os.environ if "KUBERNETES" in n])')).toBe(
      'False []',
    );
    // It is on the disk of the node.
    const large =
      'f = open("/dev/termination-log", "wb")\ntry:\n    f.truncate(1 << 40)\nexcept OSError as error: print(error.errno)';
    expect(await print(large)).toBe('27');
  });

  it('refuses network sockets where no network policy is in force, and says so', async () => {
    const code = [
      'import socket, asyncio',
      'for family in (socket.AF_INET, socket.AF_INET6):',
      '    try: socket.socket(family)',
      '    except OSError as error: print(error.errno)',
      'socket.socketpair()[0].close()',
    ];
    expect(await print(code.join('\n'))).toBe('97\n97');
    const { engine: report } = await harness.run('1', { session: 'second', timeoutMs: 60_000 });
    expect(report?.isolation).toContain('the sandbox itself refuses network sockets');
  });

  it('writes nothing to the log of the node', async () => {
    await print(
      'import sys, os\nprint("secret")\nprint("secret", file=sys.stderr)\nos.write(1, b"secret"); os.write(2, b"secret")',
    );
    const [pod = ''] = await containersOf(engine, instanceId);
    const log = await engine.run('logs', pod);
    expect([log.exitCode, log.stdout]).toEqual([0, '']);
  });

  it('is deleted with its session', async () => {
    const pods = await containersOf(engine, instanceId);
    expect(pods).toHaveLength(2);
    await harness.close();
    expect(await Promise.all(pods.map((pod) => isDeleted(engine, pod)))).toEqual([true, true]);
  });
});

describe.runIf(kubernetes !== undefined)('a Pod that cannot start', () => {
  const engine = kubernetes as TestEngine;
  const folder = mkdtempSync(join(tmpdir(), 'bridge-kube-'));
  afterAll(async () => {
    await engine.run('delete', 'namespace', 'bridge-full', '--ignore-not-found', '--wait=false');
    await engine.run('delete', 'serviceaccount/eve', 'role/mcp-bridge', 'rolebinding/eve', '--ignore-not-found');
    await engine.create().sweep({ own: true });
    rmSync(folder, { recursive: true });
  });
  const refusal = async (options: Partial<KubernetesOptions>) => {
    const started = engine.create(options).start({ command: ['python3', '-c', 'pass'], session: 'refused' });
    return started.then(
      () => ({ code: 'none', message: 'it started' }),
      (error: unknown) => error as { code: string; message: string },
    );
  };
  /** Another configuration of kubectl. */
  const configured = (change: (config: string) => string) => configuredAs(join(folder, 'config'), change);

  it('because its image is missing or has no Python, reports that', async () => {
    const missing = await refusal({ image: 'localhost/bridge/none:1' });
    expect(missing).toMatchObject({ code: 'IMAGE_MISSING', message: expect.stringContaining('ErrImageNeverPull') });
    expect(await refusal({ image: 'localhost/bridge/pause:1' })).toMatchObject({ code: 'IMAGE_UNSUITABLE' });
  });

  it('because no node fits, reports that', async () => {
    const error = await refusal({ placement: { nodeSelector: { pool: 'none' } } });
    expect(error).toMatchObject({ code: 'ENGINE_FAILED', message: expect.stringContaining('no node of the cluster') });
    expect(error.message).toContain("didn't match");
  });

  it('because of a quota, or of a missing namespace or context, reports that', async () => {
    await engine.run('create', 'namespace', 'bridge-full');
    await engine.run('create', 'quota', 'full', '--hard=pods=0', '--namespace=bridge-full');
    const options = (placement: object) => ({ placement }) as Partial<KubernetesOptions>;
    await until(async () => {
      const { message } = await refusal(options({ namespace: 'bridge-full' }));
      return message.startsWith('a quota of the namespace does not allow another sandbox');
    }, 20_000);
    const noNamespace = await refusal(options({ namespace: 'bridge-none' }));
    expect(noNamespace.message).toContain('the namespace does not exist');
    expect((await refusal(options({ context: 'none' }))).message).toContain('kubectl has no cluster');
  });

  it('because the cluster does not answer or refuses the user, reports that', async () => {
    const dead = configured((config) => config.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:9'));
    expect((await refusal(dead)).message).toContain('the cluster does not answer');
    await engine.run('create', 'serviceaccount', 'eve');
    const own = configured(withToken(await tokenOf(engine, 'eve', 'default')));
    expect((await refusal(own)).message).toContain('Kubernetes refused this user');
    // The Role in the documentation is enough.
    const role = join(folder, 'role.yaml');
    writeFileSync(role, readFences('docs/kubernetes.md', 'yaml')[0] ?? '');
    await engine.run('apply', `--filename=${role}`);
    await engine.run('create', 'rolebinding', 'eve', '--role=mcp-bridge', '--serviceaccount=default:eve');
    const { code, message } = await refusal(own);
    expect([code, message]).toEqual(['none', 'it started']);
    const stranger = configured(withToken('wrong'));
    expect((await refusal(stranger)).message).toContain('kubectl is not logged in');
  });
});

describe.runIf(kubernetes !== undefined)('no Pod outlives its bridge', () => {
  const engine = kubernetes as TestEngine;
  const instanceId = (what: string) => `${what}-${process.pid}`;
  const open: Harness[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((harness) => harness.close()));
    await engine.create().sweep();
  });
  /** A cell that runs in a Pod, and what it answers. */
  async function runCell(what: string, code: string) {
    const harness = await createHarness({
      engine: engine.create({ limits: TEST_LIMITS, instanceId: instanceId(what) }),
    });
    open.push(harness);
    await harness.run('kept = 1', { timeoutMs: 60_000 });
    const begun = createDeferred<void>();
    const answer = harness.run(`print("begun")\n${code}`, {
      timeoutMs: 300_000,
      onProgress: ({ message }) => message === 'begun' && begun.resolve(),
    });
    await begun.promise;
    const [pod = ''] = await containersOf(engine, instanceId(what));
    const [pipe = 0] = findProcesses(`${pod} -- python3`);
    return { harness, answer, pod, pipe };
  }
  const phaseOf = async (pod: string) =>
    (await engine.run('get', 'pod', pod, '--ignore-not-found', '--output=jsonpath={.status.phase}')).stdout;
  const hasEnded = (pod: string) => async () => (await phaseOf(pod)) !== 'Running';
  /** Signals every process of ours in the sandbox, from inside. */
  const STOP_ALL =
    'import os, signal\nfor p in os.listdir("/proc"):\n    if p.isdigit() and int(p) not in (1, os.getpid()): os.kill(int(p), signal.SIGSTOP)\n';
  const BUSY = 'while True: pass';

  it('killed while a cell runs; the next bridge removes what is left', async () => {
    const owner = await startOwner(engine);
    const [pod = ''] = await containersOf(engine, owner.instanceId);
    await owner.kill();
    await until(hasEnded(pod), OUTLIVES_MS);
    expect(await engine.create().sweep()).toBeGreaterThan(0);
    expect(await isDeleted(engine, pod)).toBe(true);
  });

  it('and the sweep leaves the Pods of a bridge that lives', async () => {
    const { harness, pod } = await runCell('living', 'import time; time.sleep(3)');
    await engine.create().sweep();
    expect(await phaseOf(pod)).toBe('Running');
    expect((await harness.run('kept')).value).toBe('1');
  });

  it('if kubectl is killed, even if code has stopped everything else in the sandbox', async () => {
    const { harness, answer, pod, pipe } = await runCell('kubectl', `${STOP_ALL}${BUSY}`);
    process.kill(pipe, 'SIGKILL');
    expect(errorText(await answer)).toContain('SESSION_LOST');
    await until(hasEnded(pod), 10_000);
    expect((await harness.run('1', { timeoutMs: 60_000 })).notices[0]).toContain('variables');
  });

  it('if the connection is lost without notice', async () => {
    const { answer, pod, pipe } = await runCell('silent', `${STOP_ALL}${BUSY}`);
    process.kill(pipe, 'SIGSTOP');
    await until(hasEnded(pod), OUTLIVES_MS);
    process.kill(pipe, 'SIGCONT');
    expect(errorText(await answer)).toContain('SESSION_LOST');
  });

  it.runIf(clusterFolder !== '')('if containerd ends the task', async () => {
    const { answer, harness } = await runCell('task', BUSY);
    const address = ['--address', join(clusterFolder, 'run', 'containerd.sock'), '--namespace', 'k8s.io'];
    const ctr = async (...words: string[]) => (await finished(spawn('ctr', [...address, ...words]))).split('\n');
    const running = (await ctr('containers', 'list'))
      .filter((line) => line.includes('python'))
      .map((line) => line.split(/\s+/)[0] ?? '');
    await Promise.all(running.map((id) => ctr('tasks', 'kill', '--signal', 'SIGKILL', id)));
    expect(errorText(await answer)).toContain('SESSION_LOST');
    expect((await harness.run('1', { timeoutMs: 60_000 })).value).toBe('1');
  });

  it.runIf(clusterFolder !== '')('if the API server ends; cells say so until it is back', async () => {
    const { answer, harness, pod } = await runCell('api', BUSY);
    const start = killDaemon('kube-apiserver');
    try {
      expect(errorText(await answer)).toContain('SESSION_LOST');
      await expect(harness.run('1')).rejects.toThrow('the cluster does not answer');
    } finally {
      start();
    }
    await until(async () => (await engine.run('get', '--raw', '/readyz')).stdout === 'ok', 60_000);
    await until(hasEnded(pod), OUTLIVES_MS);
    expect((await harness.run('1', { timeoutMs: 60_000 })).value).toBe('1');
    await harness.close();
    // The Pod that could not be removed went with a later one.
    expect(await isDeleted(engine, pod)).toBe(true);
  });
});

if (kubernetes === undefined || clusterFolder === '') {
  it.skip('not covered: faults of a cluster: KUBE_DIR does not name the folder of one', () => undefined);
}

/** Kills a program of the cluster. Returns what starts it again. */
function killDaemon(name: string): () => void {
  const pidFile = join(clusterFolder, 'run', `${name}.pid`);
  const pid = Number(readFileSync(pidFile, 'utf8'));
  const [command = '', ...words] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').slice(0, -1);
  process.kill(pid, 'SIGKILL');
  return () => {
    const log = openSync(join(clusterFolder, 'log', `${name}.log`), 'a');
    const child = spawn(join(clusterFolder, command), words, {
      cwd: clusterFolder,
      env: Object.fromEntries(variables.map((text) => [text.split('=', 1)[0], text.slice(text.indexOf('=') + 1)])),
      stdio: ['ignore', log, log],
      detached: true,
    });
    closeSync(log);
    child.unref();
    writeFileSync(pidFile, `${child.pid}\n`);
  };
}

async function finished(child: ChildProcess): Promise<string> {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await new Promise((resolve) => child.once('close', resolve));
  return text;
}
