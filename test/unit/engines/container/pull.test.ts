import { describe, expect, it } from 'vitest';
import { createPullProgress } from '../../../../src/edges/engines/container/pull.ts';

function percents(lines: readonly string[]): (number | undefined)[] {
  const progress = createPullProgress('python:3.14-slim');
  return lines.map((line) => progress.next(line)?.percent);
}

describe('progress of a pull', () => {
  it('counts the layers of docker and their stages', () => {
    expect(
      percents([
        '3.14-slim: Pulling from library/python',
        '0123456789ab: Pulling fs layer',
        'ba9876543210: Pulling fs layer',
        '0123456789ab: Download complete',
        '0123456789ab: Pull complete',
        'ba9876543210: Verifying Checksum',
        'ba9876543210: Pull complete',
        'Digest: sha256:0123',
      ]),
    ).toEqual([undefined, undefined, undefined, 30, 50, 75, undefined, undefined]);
  });

  it('counts the layers of podman that exist or were copied', () => {
    const layer = (digit: string) => `sha256:${digit.repeat(64)}`;
    expect(
      percents([
        'Trying to pull docker.io/library/python:3.14-slim...',
        'Getting image source signatures',
        `Copying blob ${layer('a')}`,
        `Copying blob ${layer('b')}`,
        `Copying blob ${layer('a')} skipped: already exists`,
        `Copying config ${layer('c')}`,
        'Writing manifest to image destination',
      ]),
    ).toEqual([undefined, undefined, undefined, undefined, 50, undefined, undefined]);
  });

  it('never decreases, and never reaches 100 before the end', () => {
    const seen = percents([
      '0123456789ab: Pull complete',
      'ba9876543210: Pulling fs layer',
      'ba9876543210: Pull complete',
    ]);
    expect(seen).toEqual([undefined, 50, undefined]);
  });
});
