import { describe, expect, it, vi } from 'vitest';
import { BridgeError, type ErrorCode } from '../../../src/core/base/errors.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import type { Engine, EngineName, Refusal, Sandbox } from '../../../src/core/session/engine.ts';
import { createFailoverEngine, noEngine } from '../../../src/edges/engines/failover.ts';

const exit = { exitCode: 125, signal: undefined };
const request = { command: ['python3'], session: 'default' };
const absentDocker: Refusal = { engine: 'docker', reason: 'docker is not on PATH', hint: 'Install Docker.' };
const absentEmbedded: Refusal = { engine: 'embedded', reason: 'it was not built', hint: 'Build it.' };

function failure(code: ErrorCode, engine: EngineName, retryNow = false): BridgeError {
  return new BridgeError(code, `${engine} failed`, { hint: `fix ${engine}`, data: { retryNow } });
}

/** An engine on which every start fails with `code`, either at once or as an explained failure. */
function failingEngine(
  name: EngineName,
  code: ErrorCode,
  options: { atStart?: boolean; retryNow?: boolean } = {},
): Engine {
  return {
    name,
    description: name,
    isolation: `what ${name} offers`,
    prepare: async () => undefined,
    async start() {
      if (options.atStart === true) {
        throw failure(code, name);
      }
      return {} as Sandbox;
    },
    explainStartFailure: () => failure(code, name, options.retryNow),
    sweep: vi.fn<Engine['sweep']>(async () => 1),
  };
}

async function startAndExplain(engine: Engine): Promise<BridgeError> {
  return engine.explainStartFailure(await engine.start(request), exit, '');
}

describe('several engines as one', () => {
  it('switches to the next engine and asks for another attempt', async () => {
    const engine = createFailoverEngine(
      [failingEngine('podman', 'ENGINE_UNAVAILABLE'), failingEngine('docker', 'ENGINE_FAILED')],
      [],
      silentLogger,
    );
    const error = await startAndExplain(engine);
    expect(error).toMatchObject({ code: 'ENGINE_UNAVAILABLE', message: 'podman failed', data: { retryNow: true } });
    expect(engine.name).toBe('docker');
  });

  it('does not change the engine of sessions because of the image of a program', async () => {
    const noImage = new BridgeError('IMAGE_MISSING', 'podman could not pull', { data: { isPullFailure: true } });
    const asked: unknown[] = [];
    const podman: Engine = {
      ...failingEngine('podman', 'ENGINE_FAILED'),
      async prepare(_, program) {
        asked.push(program);
        throw noImage;
      },
    };
    const engine = createFailoverEngine([podman, failingEngine('docker', 'ENGINE_FAILED')], [], silentLogger);
    const image = { image: 'node:24-slim' };
    await expect(engine.prepare(() => undefined, image)).rejects.toBe(noImage);
    expect(asked).toEqual([image]);
    expect(engine.name).toBe('podman');
  });

  it('lists every attempt if none is left, and starts over with the first', async () => {
    const engine = createFailoverEngine([failingEngine('podman', 'ENGINE_FAILED')], [absentDocker], silentLogger);
    expect(await startAndExplain(engine)).toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      message: 'no engine can be used (podman failed; docker is not on PATH)',
      hint: 'fix podman',
      data: { retryNow: false },
    });
    expect(engine.name).toBe('podman');
    expect((await startAndExplain(engine)).message).toBe(
      'no engine can be used (podman failed; docker is not on PATH)',
    );
  });

  it('offers the choice if engines only have to be installed', () => {
    const refusal = { engine: 'podman', reason: 'podman is not on PATH', hint: 'Install Podman (URL).' } as const;
    expect(noEngine([refusal, { ...absentDocker, hint: 'Install Docker (URL).' }]).hint).toBe(
      'Install Podman (URL) or Docker (URL).',
    );
  });

  it('does not change the error of a single engine', async () => {
    const engine = createFailoverEngine([failingEngine('podman', 'ENGINE_FAILED')], [], silentLogger);
    expect(await startAndExplain(engine)).toMatchObject({ code: 'ENGINE_FAILED', message: 'podman failed' });
  });

  it('keeps an engine that lacks the image, or that asks for another attempt itself', async () => {
    const docker = failingEngine('docker', 'ENGINE_FAILED');
    for (const podman of [
      failingEngine('podman', 'IMAGE_MISSING'),
      failingEngine('podman', 'IMAGE_UNSUITABLE'),
      failingEngine('podman', 'ENGINE_FAILED', { retryNow: true }),
    ]) {
      const engine = createFailoverEngine([podman, docker], [], silentLogger);
      expect((await startAndExplain(engine)).message).toBe('podman failed');
      expect(engine.name).toBe('podman');
    }
  });

  /** An engine that works but cannot pull the image: `prepare` rejects. */
  function pullsInVain(name: EngineName): Engine {
    const error = new BridgeError('IMAGE_MISSING', `${name} could not pull x`, {
      hint: `pull with ${name}`,
      data: { isPullFailure: true },
    });
    return { ...failingEngine(name, 'INTERNAL'), prepare: () => Promise.reject(error) };
  }
  const working = (name: EngineName): Engine => failingEngine(name, 'INTERNAL');
  const ignore = (): undefined => undefined;

  it('uses no weaker engine if an engine works but cannot pull the image', async () => {
    const engines = [pullsInVain('podman'), pullsInVain('docker'), working('bubblewrap')] as const;
    const engine = createFailoverEngine(engines, [absentEmbedded], silentLogger);
    const missing = { code: 'IMAGE_MISSING', message: 'podman could not pull x', hint: 'pull with podman' };
    await expect(engine.prepare(ignore)).rejects.toMatchObject(missing);
    // The next cell starts over.
    expect(engine).toMatchObject({ name: 'podman', refused: [] });
    await expect(engine.prepare(ignore)).rejects.toMatchObject(missing);
    const alone = createFailoverEngine([pullsInVain('podman'), working('embedded')], [absentDocker], silentLogger);
    await expect(alone.prepare(ignore)).rejects.toMatchObject(missing);
  });

  it('uses no weaker engine either if the other container engine does not work', async () => {
    const engines = [
      pullsInVain('podman'),
      failingEngine('docker', 'ENGINE_UNAVAILABLE'),
      working('embedded'),
    ] as const;
    const engine = createFailoverEngine(engines, [], silentLogger);
    await engine.prepare(ignore);
    expect(engine.name).toBe('docker');
    expect(await startAndExplain(engine)).toMatchObject({ code: 'IMAGE_MISSING', message: 'podman could not pull x' });
    expect(engine.name).toBe('podman');
    const dead = failingEngine('podman', 'ENGINE_UNAVAILABLE', { atStart: true });
    const second = createFailoverEngine([dead, pullsInVain('docker'), working('embedded')], [], silentLogger);
    await second.start(request).catch(ignore);
    await expect(second.prepare(ignore)).rejects.toMatchObject({ message: 'docker could not pull x' });
  });

  it('uses docker if podman cannot pull the image, because it isolates equally well', async () => {
    const engine = createFailoverEngine([pullsInVain('podman'), working('docker')], [], silentLogger);
    await engine.prepare(ignore);
    expect(engine.name).toBe('docker');
    expect(engine.refused).toEqual([{ engine: 'podman', reason: 'podman could not pull x', hint: 'pull with podman' }]);
  });

  it('uses no weaker engine once one has worked, because code in a sandbox may be why it fails', async () => {
    const podman = failingEngine('podman', 'ENGINE_UNAVAILABLE');
    const docker = failingEngine('docker', 'ENGINE_UNAVAILABLE');
    const engine = createFailoverEngine([podman, docker, working('bubblewrap')], [absentEmbedded], silentLogger);
    engine.noteReady?.(await engine.start(request));
    expect(await startAndExplain(engine)).toMatchObject({ message: 'podman failed', data: { retryNow: true } });
    expect(engine.name).toBe('docker');
    const last = { code: 'ENGINE_UNAVAILABLE', hint: 'fix podman', data: { retryNow: false } };
    expect(await startAndExplain(engine)).toMatchObject(last);
    expect(engine).toMatchObject({ name: 'podman', refused: [] });
  });

  it('tells the engine itself that a sandbox has started', async () => {
    const noteReady = vi.fn<NonNullable<Engine['noteReady']>>();
    const engine = createFailoverEngine([{ ...working('embedded'), noteReady }, working('docker')], [], silentLogger);
    const sandbox = await engine.start(request);
    engine.noteReady?.(sandbox);
    expect(noteReady).toHaveBeenCalledExactlyOnceWith(sandbox);
  });

  it('keeps to the strength of a weaker engine that has worked', async () => {
    const engines = [
      failingEngine('podman', 'ENGINE_FAILED'),
      failingEngine('bubblewrap', 'ENGINE_FAILED'),
      working('embedded'),
    ] as const;
    const engine = createFailoverEngine(engines, [absentDocker], silentLogger);
    await startAndExplain(engine);
    engine.noteReady?.(await engine.start(request));
    expect(await startAndExplain(engine)).toMatchObject({ data: { retryNow: false } });
    expect(engine.name).toBe('podman');
  });

  it('tries the next engine at once if a command cannot be run', async () => {
    const engine = createFailoverEngine(
      [failingEngine('podman', 'ENGINE_UNAVAILABLE', { atStart: true }), failingEngine('docker', 'IMAGE_MISSING')],
      [],
      silentLogger,
    );
    await engine.start(request);
    expect(engine.name).toBe('docker');
  });

  it('gives up if no command can be run', async () => {
    const engine = createFailoverEngine(
      [
        failingEngine('podman', 'ENGINE_UNAVAILABLE', { atStart: true }),
        failingEngine('docker', 'ENGINE_UNAVAILABLE', { atStart: true }),
      ],
      [],
      silentLogger,
    );
    await expect(engine.start(request)).rejects.toThrow('no engine can be used (podman failed; docker failed)');
  });

  it('switches engines only once if two concurrent starts fail', async () => {
    const engine = createFailoverEngine(
      [failingEngine('podman', 'ENGINE_UNAVAILABLE'), failingEngine('docker', 'IMAGE_MISSING')],
      [],
      silentLogger,
    );
    const [first, second] = await Promise.all([engine.start(request), engine.start(request)]);
    expect(engine.explainStartFailure(first, exit, '').data['retryNow']).toBe(true);
    expect(engine.explainStartFailure(second, exit, '').data['retryNow']).toBe(true);
    expect(engine.name).toBe('docker');
  });

  it('lists the engines with precedence, with every reason, strongest first', async () => {
    const engines = [failingEngine('podman', 'ENGINE_FAILED'), failingEngine('bubblewrap', 'ENGINE_FAILED')] as const;
    const engine = createFailoverEngine(engines, [absentDocker, absentEmbedded], silentLogger);
    expect(engine.refused).toEqual([]);
    await startAndExplain(engine);
    expect(engine).toMatchObject({ name: 'bubblewrap', isolation: 'what bubblewrap offers' });
    expect(engine.refused?.map(({ reason }) => reason)).toEqual(['podman failed', 'docker is not on PATH']);
  });

  it('sweeps every engine', async () => {
    const engines = [failingEngine('podman', 'ENGINE_FAILED'), failingEngine('docker', 'ENGINE_FAILED')] as const;
    expect(await createFailoverEngine(engines, [], silentLogger).sweep({ own: true })).toBe(2);
    expect(engines.map(({ sweep }) => vi.mocked(sweep).mock.calls)).toEqual([[[{ own: true }]], [[{ own: true }]]]);
  });
});
