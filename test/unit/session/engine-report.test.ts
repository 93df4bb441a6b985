import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engines/engine.ts';
import { describeEngine, reportEngine, standInNotice, withMissing } from '../../../src/session/engine-report.ts';

const refusal = { engine: 'podman', reason: 'podman is not on PATH', hint: 'Install Podman.' } as const;

function engine(fields: Partial<Engine>): Engine {
  return { name: 'embedded', isolation: 'Python in WebAssembly', ...fields } as Engine;
}

describe('what is told of an engine', () => {
  it('names it, its isolation, and what was refused without the hints', () => {
    expect(reportEngine(engine({ refused: [refusal] }))).toEqual({
      name: 'embedded',
      isolation: 'Python in WebAssembly',
      refused: [{ engine: 'podman', reason: 'podman is not on PATH' }],
    });
  });

  it('is a notice when a weaker engine stands in', () => {
    expect(standInNotice(reportEngine(engine({ refused: [refusal] })))).toBe(
      'embedded runs this session, which is weaker than a container: Python in WebAssembly. Not used: podman is not on PATH.',
    );
  });

  it('is no notice between equals, nor for what was asked for', () => {
    expect(standInNotice(reportEngine(engine({ name: 'docker', refused: [refusal] })))).toBeUndefined();
    expect(standInNotice(reportEngine(engine({})))).toBeUndefined();
  });

  it('ends the manual with what Python lacks', () => {
    expect(withMissing('The manual.', engine({ missing: 'Threads.' }))).toBe(
      'The manual.\n**Missing here.** Threads.\n',
    );
    expect(withMissing('The manual.', engine({}))).toBe('The manual.');
  });

  it('is a paragraph for those who ask', () => {
    expect(describeEngine(engine({ refused: [refusal], missing: 'Threads.' }))).toBe(
      'Sessions run on embedded: Python in WebAssembly. Not used: podman is not on PATH. Missing here: Threads.',
    );
    expect(describeEngine(engine({ name: 'podman', isolation: 'a container' }))).toBe(
      'Sessions run on podman: a container.',
    );
  });
});
