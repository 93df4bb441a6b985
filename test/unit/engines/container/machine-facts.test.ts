import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeMachine, type MachineTexts } from '../../../../src/edges/engines/container/machine-facts.ts';

const fixture = (name: string): string =>
  readFileSync(new URL(`../../../fixtures/podman-machine/${name}`, import.meta.url), 'utf8');
const RUNNING = { list: fixture('list-5.json'), inspect: fixture('inspect-5.json'), version: '{"Client": {}}' };
const SESSION_BYTES = 512 * 1024 ** 2;

const facts = (change: Partial<MachineTexts> = {}, memoryBytes = SESSION_BYTES) =>
  describeMachine({ ...RUNNING, ...change }, memoryBytes);

test('a running machine: its name, privileges, memory and processors', () => {
  expect(facts()).toEqual([
    { level: 'ok', text: 'the machine podman-machine-default is running, rootful, 2,048 MiB of memory, 5 CPUs' },
  ]);
});

test('a stopped, rootless machine', () => {
  const list = RUNNING.list.replace('"Running": true', '"Running": false');
  const inspect = RUNNING.inspect.replace('"Rootful": true', '"Rootful": false');
  expect(facts({ list, inspect })[0]).toMatchObject({
    level: 'ok',
    text: expect.stringMatching(/^the machine podman-machine-default is stopped; the first cell starts it, rootless,/),
  });
  expect(
    facts({
      list: RUNNING.list
        .replace('"Starting": false', '"Starting": true')
        .replace('"Running": true', '"Running": false'),
    })[0]?.text,
  ).toContain('is still starting');
});

test('what an older podman does not report is left out', () => {
  expect(facts({ inspect: '[{"Name": "podman-machine-default"}]', version: '' })).toEqual([
    { level: 'ok', text: 'the machine podman-machine-default is running' },
  ]);
});

test('no machine, or several without a default, is a problem with a command to run', () => {
  expect(facts({ list: '[]' })).toEqual([
    { level: 'problem', text: 'there is no Podman machine', hint: 'Run: podman machine init --now' },
  ]);
  const two = '[{"Name": "a"}, {"Name": "b"}]';
  expect(facts({ list: two })).toMatchObject([
    { level: 'problem', text: 'none of the Podman machines is the default' },
  ]);
  expect(facts({ list: 'no JSON' })).toMatchObject([{ level: 'problem' }]);
});

test('too little memory for a session', () => {
  expect(facts({}, 2048 * 1024 ** 2)[1]).toEqual({
    level: 'warning',
    text: 'the machine has 2048 MiB of memory; a session with 2048 MiB and the system need 2560 MiB',
    hint: 'Run: podman machine stop; podman machine set --memory 2560; or lower MCP_BRIDGE_MEMORY.',
  });
});

test('a client and a machine with different major versions', () => {
  expect(facts({ version: fixture('version-mixed.json') })[1]).toMatchObject({
    level: 'warning',
    text: 'the client is podman 5.6.2, but the machine runs podman 4.9.4',
  });
  expect(facts({ version: fixture('version-mixed.json').replaceAll('4.9.4', '5.0.0') })).toHaveLength(1);
});
