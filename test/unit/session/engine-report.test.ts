import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engines/engine.ts';
import { describeEngine, reportEngine, standInNotice, withMissing } from '../../../src/session/engine-report.ts';

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

  it('adds to the manual what Python lacks', () => {
    expect(withMissing('The manual.', engine({ missing: 'Threads.' }))).toBe(
      'The manual.\n**Missing here.** Threads.\n',
    );
    expect(withMissing('The manual.', engine({}))).toBe('The manual.');
  });

  it('is available as one paragraph', () => {
    expect(describeEngine(engine({ refused: [refusal], missing: 'Threads.' }))).toBe(
      'Sessions run on embedded: Python in WebAssembly. Not used: podman is not on PATH. Missing here: Threads.',
    );
    expect(describeEngine(engine({ name: 'podman', isolation: 'a container' }))).toBe(
      'Sessions run on podman: a container.',
    );
  });
});
