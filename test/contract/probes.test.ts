/**
 * The table of probes in `test/support/probes/README.md` comes from a record, which must contain every existing probe and no
 * other.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { hasLocalPython } from '../support/local-python.ts';
import { type ProbeRecord, RECORD_FILE } from '../support/probes/record.ts';

const record = JSON.parse(readFileSync(RECORD_FILE, 'utf8')) as ProbeRecord;

/** What a fixture prints in its last line if it only lists its probes. */
function list(fixture: string, before: string): unknown[] {
  const code = readFileSync(new URL(`../fixtures/security/${fixture}`, import.meta.url), 'utf8');
  const printed = execFileSync('python3', ['-c', `${before}\n${code}`], { encoding: 'utf8' });
  return JSON.parse(printed) as unknown[];
}

describe('the record of the probes', () => {
  it('exists for every engine', () => {
    const labels = ['podman', 'podman-rootless', 'docker', 'bubblewrap', 'embedded'];
    expect(Object.keys(record)).toEqual(expect.arrayContaining(labels));
  });

  const isLinux = process.platform === 'linux' && hasLocalPython();
  const notCovered = isLinux ? '' : 'not covered: needs Linux and python3 3.10 or newer: ';
  it.skipIf(!isLinux)(`${notCovered}names every probe, bomb and trace of an engine with a complete Linux`, () => {
    const probes = list('probes.py', 'HOST = {"is_list": True}') as { group: string; name: string }[];
    const bombs = list('bombs.py', 'BOMB, MIB, PIDS = None, 0, 0') as string[];
    const names = [...probes.map(({ group, name }) => `${group}: ${name}`), ...bombs.map((name) => `bombs: ${name}`)];
    const recorded = Object.keys(record['podman'] ?? {});
    expect(recorded.filter((name) => !name.startsWith('persistence: '))).toEqual(names);
    // Each trace is searched for in another session, and in the same one after a reset.
    const traces = readFileSync(new URL('../fixtures/security/persistence.py', import.meta.url), 'utf8').match(
      /^TRACES\[/gm,
    );
    expect(recorded.length - names.length).toBe(2 * (traces?.length ?? 0));
  });
});
