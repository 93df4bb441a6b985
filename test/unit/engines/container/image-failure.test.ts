import { describe, expect, test } from 'vitest';
import { hintOfImageFailure, lastWordsOf } from '../../../../src/edges/engines/container/image-failure.ts';

describe('the next step after a failed pull or build', () => {
  test.each([
    ['dial tcp: lookup registry-1.docker.io on 1.1.1.1:53: no such host', /^Check the network/],
    [
      'Error: reading manifest 9 in docker.io/library/python: manifest unknown',
      /^Check the name and the tag: python:9\.$/,
    ],
    ['requested access to the resource is denied', /log in/],
    ['write /var/lib/containers: no space left on device', /^Free some disk space/],
    ['/usr/bin/python3: No module named pip', /^The base image python:9 has no pip/],
    ['ERROR: No matching distribution found for nosuch', /pypi\.org/],
    ['something new', /^Check the name python:9 and the network/],
    ['', /^Check the name python:9 and the network/],
  ])('%j', (words, hint) => {
    expect(hintOfImageFailure('pull', 'python:9', words)).toMatch(hint);
  });

  test('a locally built image is not looked up in a registry', () => {
    const words = 'pinging container registry localhost: connection refused';
    expect(hintOfImageFailure('pull', 'localhost/mine:1', words)).toMatch(
      /^An image named localhost\/… exists only on the machine that built it/,
    );
    expect(hintOfImageFailure('build', 'python:9', 'something new')).toMatch(/^The last lines above/);
  });
});

test('the stderr of podman on one line, without repeated attempts', () => {
  const stderr = `Trying to pull localhost/x:1...
time="2026-11-21T21:11:03Z" level=warning msg="Failed, retrying in 1s ... (1/3). Error: refused"
Error: initializing source docker://localhost/x:1: connection refused
`;
  expect(lastWordsOf(stderr)).toBe('initializing source docker://localhost/x:1: connection refused');
  expect(lastWordsOf('\n')).toBe('');
  expect(lastWordsOf('x'.repeat(5000))).toHaveLength(601);
});
