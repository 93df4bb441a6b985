import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { createLogger } from '../../../src/core/base/log.ts';
import { PROTOCOL_VERSION } from '../../../src/core/protocol/frames.ts';
import type { HandleCall } from '../../../src/core/session/dispatch.ts';
import { type KernelOptions, startKernel } from '../../../src/core/session/kernel.ts';
import { STANDBY_SESSION, type StandbyOptions, StandbyPool } from '../../../src/core/session/standby.ts';
import { FakeEngine, type FakeSandbox } from '../../support/fake-sandbox.ts';
import { LIMITS } from '../../support/fake-session.ts';

const STARTED = { report: 'started', memory_limit_bytes: 1, pids_limit: 1, seccomp: true } as const;
const GIB = 1024 ** 3;
const noop = (): void => undefined;

function openPool(options: Partial<StandbyOptions> = {}) {
  const engine = new FakeEngine();
  const log: string[] = [];
  const shared = {
    engine,
    limits: LIMITS,
    logger: createLogger('DEBUG', (line) => log.push(line)),
    packKey: 'image',
    packs: { load: async () => undefined, save: async () => undefined },
    sources: { loader: 'loader', modules: new Map([['kernel', Buffer.from('kernel')]]), hash: 'hash' },
  };
  const pool = new StandbyPool({ ...shared, count: 1, freeBytes: () => GIB, refillDelayMs: 1, ...options });
  const start = (more: Partial<KernelOptions> = {}) =>
    startKernel({
      ...shared,
      session: 'default',
      generation: 1,
      startTimeoutMs: 60_000,
      hello: { saved_tools: [] },
      manual: () => 'the summary',
      loaded: new Set(),
      load: () => undefined,
      handleCall: async () => null,
      onProgress: () => undefined,
      standby: pool,
      ...more,
    });
  return { engine, log, pool, start };
}

/** Fills the pool, and reports the start of its next sandbox. */
async function fillOne({ engine, pool }: ReturnType<typeof openPool>): Promise<FakeSandbox> {
  const filling = pool.fill();
  const sandbox = await engine.nextSandbox();
  sandbox.report(STARTED);
  await filling;
  return sandbox;
}

describe('a pool of sandboxes started ahead', () => {
  it('starts nothing before it is asked to', async () => {
    const { engine, pool, start } = openPool();
    pool.noteUse();
    await start();
    expect(engine.sandboxes).toHaveLength(1);
    expect(pool.hasStarted).toBe(false);
  });

  it('gives a session a sandbox that knows nothing yet, and starts another', async () => {
    const opened = openPool();
    const sessions: string[] = [];
    opened.engine.beforeStart = ({ session }) => void sessions.push(session);
    const sandbox = await fillOne(opened);
    expect(sandbox.received).toEqual([]);
    const kernel = await opened.start();
    expect(kernel.connection.sandbox).toBe(sandbox);
    expect(sandbox.framesOf('hello')).toMatchObject([{ session: 'default', capability_summary: 'the summary' }]);
    const next = await opened.engine.nextSandbox();
    expect(next).not.toBe(sandbox);
    expect(sessions).toEqual([STANDBY_SESSION, STANDBY_SESSION]);
  });

  // A module wrote a pack, which the first process of every later sandbox ran, also with another image of that name.
  it('takes neither compiled code nor the Python from a sandbox that has imported modules', async () => {
    const saved: Buffer[] = [];
    const packs = {
      load: async () => Buffer.from('pack'),
      save: async (_: string, pack: Buffer) => void saved.push(pack),
    };
    const opened = openPool({ packs, modules: async () => ['numpy'] });
    const filling = opened.pool.fill();
    const sandbox = await opened.engine.nextSandbox();
    sandbox.report({ ...STARTED, python: 'cpython-314 linux x86_64' });
    await filling;
    sandbox.send({ type: 'code_pack', data: Buffer.from('forged').toString('base64') });
    const greeting = { protocol_version: PROTOCOL_VERSION, python_version: '3.14.0', platform: 'linux x86_64' };
    sandbox.send({ type: 'ready', ...greeting, python: 'cpython-99 forged' });
    const pythons: (string | undefined)[] = [];
    const handleCall: HandleCall = async (_, { python }) => void pythons.push(python);
    const { connection } = await opened.start({ handleCall, packs });
    expect(connection.sandbox).toBe(sandbox);
    expect(saved).toEqual([]);
    const listener = { onOutput: noop, onDisplay: noop, onAttachment: noop, onProgress: noop };
    void connection.execute({ cell: 1, code: '', servers: [] }, listener, undefined);
    sandbox.send({ type: 'call', call: 1, method: 'discovered_servers', params: {} });
    await expect.poll(() => pythons).toEqual(['cpython-314 linux x86_64']);
  });

  it('never gives one sandbox to two sessions', async () => {
    const opened = openPool({ refillDelayMs: 60_000 });
    const sandbox = await fillOne(opened);
    const kernels = await Promise.all([opened.start(), opened.start({ session: 'other' })]);
    expect(kernels.filter(({ connection }) => connection.sandbox === sandbox)).toHaveLength(1);
    expect(opened.engine.sandboxes).toHaveLength(2);
  });

  it('gives away a sandbox that is still starting', async () => {
    const { engine, pool, start } = openPool();
    void pool.fill();
    const sandbox = await engine.nextSandbox();
    await setImmediate();
    const starting = start();
    sandbox.report(STARTED);
    expect((await starting).connection.sandbox).toBe(sandbox);
  });

  it('ends a sandbox that was still starting when its session ended', async () => {
    const { engine, pool, start } = openPool();
    void pool.fill();
    const sandbox = await engine.nextSandbox();
    await setImmediate();
    const ending = new AbortController();
    const starting = start({ signal: ending.signal });
    ending.abort();
    await expect(starting).rejects.toThrow('aborted');
    expect(sandbox.kills).toBe(0);
    sandbox.report(STARTED);
    await expect.poll(() => sandbox.kills).toBeGreaterThan(0);
  });

  it('a sandbox that died unnoticed costs a session only its own start', async () => {
    const opened = openPool({ refillDelayMs: 60_000 });
    const sandbox = await fillOne(opened);
    opened.engine.isReadyAtOnce = false;
    const starting = opened.start();
    await expect.poll(() => sandbox.received.length).toBe(1);
    opened.engine.isReadyAtOnce = true;
    sandbox.exit();
    expect((await starting).connection.sandbox).not.toBe(sandbox);
    expect(opened.engine.sandboxes).toHaveLength(2);
  });

  it('forgets a sandbox whose end it sees', async () => {
    const opened = openPool({ refillDelayMs: 60_000 });
    (await fillOne(opened)).exit();
    await Promise.resolve();
    expect(opened.pool.take()).toBeUndefined();
  });

  it('learns from a failed start as a session does, and reports none', async () => {
    const { engine, log, pool } = openPool();
    engine.startFailure = new BridgeError('ENGINE_FAILED', 'it does not know a flag', { data: { retryNow: true } });
    const filling = pool.fill();
    (await engine.nextSandbox()).exit({ exitCode: 125, signal: undefined });
    (await engine.nextSandbox()).report(STARTED);
    await filling;
    expect(engine.sandboxes).toHaveLength(2);
    expect(log.filter((line) => !line.includes('DEBUG'))).toEqual([]);
  });

  it('gives up after a failure, so that cells are not slowed down by more of them', async () => {
    const { engine, pool } = openPool();
    const filling = pool.fill();
    (await engine.nextSandbox()).exit({ exitCode: 125, signal: undefined });
    await filling;
    await pool.fill();
    expect(engine.sandboxes).toHaveLength(1);
    expect(pool.take()).toBeUndefined();
  });

  it('drops a sandbox of an engine that sessions no longer use', async () => {
    const opened = openPool({ refillDelayMs: 60_000 });
    const sandbox = await fillOne(opened);
    Object.assign(opened.engine, { name: 'docker' });
    expect(await opened.pool.take()).toBeUndefined();
    expect(sandbox.kills).toBeGreaterThan(0);
  });

  it('starts none while memory is short', async () => {
    const { engine, pool } = openPool({ freeBytes: () => 1 });
    await pool.fill();
    expect(engine.sandboxes).toEqual([]);
  });

  it('ends those it has at its end, also one that is starting, but none that a session has taken', async () => {
    const opened = openPool({ count: 2, refillDelayMs: 60_000 });
    const filling = opened.pool.fill();
    const taken = await opened.engine.nextSandbox();
    taken.report(STARTED);
    const starting = await opened.engine.nextSandbox();
    await opened.start();
    await opened.pool.close();
    await filling;
    expect(taken.kills).toBe(0);
    expect(starting.kills).toBeGreaterThan(0);
    await opened.pool.fill();
    expect(opened.engine.sandboxes).toHaveLength(2);
  });

  it('lets the first sandbox of an image compile its modules, and keeps the next one', async () => {
    const packs = new Map<string, Buffer>();
    const opened = openPool({
      packs: {
        load: async (key) => packs.get(key),
        save: async (key, pack) => void packs.set(key, pack),
      },
    });
    opened.engine.isPreloaded = false;
    opened.engine.isReadyAtOnce = false;
    const filling = opened.pool.fill();
    const first = await opened.engine.nextSandbox();
    await expect.poll(() => first.framesOf('hello')).toHaveLength(1);
    first.send({ type: 'code_pack', data: Buffer.from('pack').toString('base64') });
    first.becomeReady();
    const second = await opened.engine.nextSandbox();
    second.report(STARTED);
    await filling;
    expect(first.kills).toBeGreaterThan(0);
    expect(second.boot?.toString('utf8')).toContain('pack');
    expect(second.received).toEqual([]);
  });
});

describe('modules that a pool lets its sandboxes import', () => {
  /** A pool on an engine whose sandboxes get the kernel from the host, and what they should import. */
  function openWith(options: Partial<StandbyOptions> = {}) {
    const wanted = { modules: ['numpy', 'pandas'] };
    const opened = openPool({
      packs: { load: async () => Buffer.from('pack'), save: async () => undefined },
      modules: async () => wanted.modules,
      ...options,
    });
    opened.engine.isPreloaded = false;
    return { ...opened, wanted };
  }
  /** What the first bytes of a sandbox tell it to import. */
  const modulesOf = ({ boot }: FakeSandbox): string | undefined =>
    new RegExp(`${LIMITS.memoryBytes} ${LIMITS.pids}(.*?)(?:pack)?$`).exec(boot?.toString('utf8') ?? '')?.[1]?.trim();

  it('are told to a sandbox that is started ahead, not to one that a session starts', async () => {
    const opened = openWith({ refillDelayMs: 60_000 });
    expect(modulesOf(await fillOne(opened))).toBe('numpy pandas');
    const kernels = await Promise.all([opened.start(), opened.start({ session: 'other' })]);
    expect(kernels.map(({ connection }) => modulesOf(connection.sandbox as FakeSandbox))).toEqual(['numpy pandas', '']);
  });

  it('are none while memory would become short', async () => {
    expect(modulesOf(await fillOne(openWith({ freeBytes: () => GIB - 1 })))).toBe('');
  });

  it('are imported by another sandbox if they were learned too late, and only then', async () => {
    const opened = openWith();
    const first = await fillOne(opened);
    opened.wanted.modules = ['pandas'];
    await opened.pool.fill();
    expect(first.kills).toBe(0);
    opened.wanted.modules = ['pandas', 'seaborn'];
    expect(modulesOf(await fillOne(opened))).toBe('pandas seaborn');
    expect(first.kills).toBeGreaterThan(0);
    opened.wanted.modules = [];
    await opened.pool.fill();
    expect(opened.engine.sandboxes).toHaveLength(2);
  });

  it('are no longer imported once a sandbox has ended over them', async () => {
    const opened = openWith();
    (await fillOne(opened)).exit({ exitCode: 78, signal: undefined });
    await expect.poll(() => opened.log.join()).toContain('had to import numpy, pandas ahead');
    expect(modulesOf(await fillOne(opened))).toBe('');
  });

  it('are imported from the packages that sessions have from their start, and never from others', async () => {
    const first = { path: '/packages/sets/1', python: 'cpython-314 linux x86_64' };
    let packages: typeof first | undefined = first;
    const opened = openWith({ refillDelayMs: 60_000, packages: async () => packages });
    const start = () => opened.start({ packages: async () => packages });
    const bootOf = ({ boot }: FakeSandbox) =>
      /numpy.*?(?=pack$)|\d\n.*?(?=pack$)|$/s.exec(boot?.toString('utf8') ?? '')?.[0];
    expect(bootOf(await fillOne(opened))).toBe('numpy pandas\n/packages/sets/1\ncpython-314 linux x86_64');
    expect((await start()).isAhead).toBe(true);
    const second = await fillOne(opened);
    // A policy denies one of them by now.
    packages = undefined;
    const { connection: cold, isAhead } = await start();
    expect(isAhead).toBe(undefined);
    expect(await opened.engine.nextSandbox()).toBe(cold.sandbox);
    expect(second.kills).toBeGreaterThan(0);
    expect(bootOf(await fillOne(opened))).toBe('numpy pandas');
    packages = { ...first, path: '/packages/sets/2' };
    expect(bootOf(await fillOne(opened))).toContain('/packages/sets/2');
    // A session that needs none ahead has the packages, too.
    await start();
    const { connection } = await start();
    expect((connection.sandbox as FakeSandbox).boot?.toString('utf8')).toContain('\n/packages/sets/2\n');
  });

  it('are still imported after a sandbox was dropped or taken', async () => {
    const opened = openWith({ refillDelayMs: 60_000 });
    await fillOne(opened);
    const { connection } = await opened.start();
    (connection.sandbox as FakeSandbox).exit();
    expect(modulesOf(await fillOne(opened))).toBe('numpy pandas');
  });
});
