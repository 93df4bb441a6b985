/** A row of the benchmark never says that an engine was measured which was not. */
import { describe, expect, it } from 'vitest';
import { containerEngine, usualImage } from '../../../bench/context.ts';
import { assertEngine, reportedEngine } from '../../../bench/support/reported-engine.ts';
import { testEngine } from '../../support/engines.ts';

describe('the engine of a bridge', () => {
  it('is what its first answer says', () => {
    expect(reportedEngine({ status: 'success', engine: { name: 'podman', isolation: 'a container' } })).toBe('podman');
    expect(reportedEngine({ status: 'success' })).toBeUndefined();
    expect(reportedEngine(undefined)).toBeUndefined();
  });

  it('must be the one that is measured', () => {
    expect(() => assertEngine('bubblewrap', 'podman')).toThrow('the bridge ran it on bubblewrap, not on podman');
    expect(() => assertEngine('podman', 'podman')).not.toThrow();
    expect(() => assertEngine(undefined, 'podman')).not.toThrow();
  });
});

// Without podman's image, the rows about containers had the figures of bubblewrap.
describe('a figure about containers', () => {
  const missing = ['podman: localhost/none:1 could not be pulled: connection refused'];

  it('is not taken on an engine that runs none, and the reason names those that could not', () => {
    const found = { engine: testEngine('bubblewrap', 'bubblewrap', {}, false), missing };
    expect(() => containerEngine(found)).toThrow(
      'needs a container engine, and bubblewrap is none (podman: localhost/none:1 could not be pulled: connection refused)',
    );
  });

  it('is taken on one that does', () => {
    const podman = testEngine('podman', 'podman', {}, true);
    expect(containerEngine({ engine: podman, missing })).toBe(podman);
  });

  it('names the image that the user chose', () => {
    expect(usualImage(undefined).title).toBe('image without .pyc files');
    expect(usualImage('registry.example/python:3')).toEqual({
      name: 'registry.example/python:3',
      title: 'image registry.example/python:3',
    });
  });
});
