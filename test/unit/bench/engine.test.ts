/** A row of the benchmark never names an engine that was not measured. */
import { describe, expect, it } from 'vitest';
import { containerEngine, usualImage } from '../../../bench/context.ts';
import { assertEngine, reportedEngine } from '../../../bench/support/bridge.ts';
import { testEngine } from '../../support/engines.ts';

describe('the engine of a bridge', () => {
  it('is the one named in its first answer', () => {
    expect(reportedEngine({ status: 'success', engine: { name: 'podman', isolation: 'a container' } })).toBe('podman');
    expect(reportedEngine({ status: 'success' })).toBeUndefined();
    expect(reportedEngine(undefined)).toBeUndefined();
  });

  it('must be the one being measured', () => {
    expect(() => assertEngine('bubblewrap', 'podman')).toThrow('the bridge used bubblewrap instead of podman');
    expect(() => assertEngine('podman', 'podman')).not.toThrow();
    expect(() => assertEngine(undefined, 'podman')).not.toThrow();
  });
});

// Without podman's image, rows about containers used to have the figures of bubblewrap.
describe('a figure about containers', () => {
  const missing = ['podman: localhost/none:1 could not be pulled: connection refused'];

  it('is refused on an engine without containers, with the reasons why others are missing', () => {
    const found = { engine: testEngine('bubblewrap', 'bubblewrap', {}, false), missing };
    expect(() => containerEngine(found)).toThrow(
      'needs a container engine, but bubblewrap is not one (podman: localhost/none:1 could not be pulled: connection refused)',
    );
  });

  it('is allowed on a container engine', () => {
    const podman = testEngine('podman', 'podman', {}, true);
    expect(containerEngine({ engine: podman, missing })).toBe(podman);
  });

  it('names an image chosen by the user', () => {
    expect(usualImage(undefined).title).toBe('image without .pyc files');
    expect(usualImage('registry.example/python:3')).toEqual({
      name: 'registry.example/python:3',
      title: 'image registry.example/python:3',
    });
  });
});
