import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/core/session/engine.ts';
import { describeEngine, reportEngine, standInNotice, surroundings } from '../../../src/core/session/engine-report.ts';

const refusal = { engine: 'podman', reason: 'podman is not on PATH', hint: 'Install Podman.' } as const;

function engine(fields: Partial<Engine>): Engine {
  return { name: 'embedded', isolation: 'Python in WebAssembly', ...fields } as Engine;
}

describe('the report of an engine', () => {
  it('has its name, its isolation, and the refused engines without hints', () => {
    expect(reportEngine(engine({ refused: [refusal] }))).toEqual({
      name: 'embedded',
      isolation: 'Python in WebAssembly',
      refused: [{ engine: 'podman', reason: 'podman is not on PATH' }],
    });
  });

  it('becomes a notice if the engine is weaker than a refused one', () => {
    expect(standInNotice(reportEngine(engine({ refused: [refusal] })))).toBe(
      'embedded runs this session, which is weaker than a container: Python in WebAssembly. Not used: podman is not on PATH.',
    );
  });

  it('has no notice for an equally strong engine, nor for one that the user chose', () => {
    expect(standInNotice(reportEngine(engine({ name: 'docker', refused: [refusal] })))).toBeUndefined();
    expect(standInNotice(reportEngine(engine({})))).toBeUndefined();
  });

  // The manual once promised a shell, and programs in Go, on every engine.
  it('ends the manual with what is there and what is not', () => {
    const some = { ready: ['javascript', 'typescript', 'python'], absent: ['go', 'bash'] };
    expect(surroundings(engine({ missing: 'A shell.', wheelsFor: 'cpython' }), some, true)).toBe(
      '\n**Available here.** The standard library. `await runtime.run("javascript", code)` runs programs in javascript, typescript and python.\n' +
        '\n**Missing here.** Programs in go and bash. A shell.\n',
    );
    const all = { ready: ['go', 'bash'], absent: [], condition: 'Each needs its image.' };
    expect(surroundings(engine({ provides: 'the image and a shell', canBuild: true }), all, true)).toBe(
      '\n**Available here.** The standard library, the image and a shell. `await runtime.run("go", code)` runs programs in go and bash. Each needs its image.\n',
    );
    const none = { ready: [], absent: ['go'] };
    expect(surroundings(engine({ provides: 'a shell' }), none, true)).toBe(
      '\n**Available here.** The standard library, a shell.\n' +
        '\n**Missing here.** Programs in other languages (`runtime.run`). The installation of packages.\n',
    );
    expect(surroundings(engine({}), undefined, false)).toBe('\n**Available here.** The standard library.\n');
  });

  it('is available as one paragraph', () => {
    expect(describeEngine(engine({ refused: [refusal] }))).toBe(
      'Sessions run on embedded: Python in WebAssembly. Not used: podman is not on PATH.',
    );
    expect(describeEngine(engine({ name: 'podman', isolation: 'a container' }))).toBe(
      'Sessions run on podman: a container.',
    );
  });
});
