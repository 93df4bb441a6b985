/** The tables of `test/support/probes/README.md` on attempts from inside a sandbox, from the record of the last run. */
import { readFileSync } from 'node:fs';
import { EXCEPTIONS } from '../../test/support/probes/exceptions.ts';
import { groupOf, isHeld, type ProbeRecord, RECORD_FILE } from '../../test/support/probes/record.ts';

type Recorded = readonly [string, ProbeRecord[string][string]][];

/** What each group of probes tries, in the order of the table. */
const GROUPS: Readonly<Record<string, string>> = {
  network: 'addresses, names, vsock, sockets of the host, interfaces, raw and packet sockets',
  files:
    'writing outside of scratch space, executing, devices, files of the host, switches under /proc and /sys, cgroups',
  rights: 'users, groups, capabilities, setuid, limits, priorities',
  'PID 1': 'memory, descriptors, tracing and signals of the first process',
  sight: 'secrets in the environment and in files, proxies, mounts, processes and name of the host',
  kernel: 'mounts, namespaces, keys, modules, tracing and other system calls that ordinary code does not need',
  use: 'what ordinary code needs and must be able to do',
  persistence: 'what a session could leave behind for another one, or for itself after a reset',
  bombs: 'memory of every kind, processes, threads, descriptors, loops, endless output',
};

/** Columns of the table, if recorded. */
const ENGINES: readonly string[] = [
  'podman',
  'podman-rootless',
  'docker',
  'bubblewrap',
  'embedded',
  'podman-gvisor',
  'kubernetes',
];

/** For each group and engine, how many of the probes had the expected result. Throws if a group is not described. */
export function renderProbes(): string {
  const columns = readColumns();
  const groups = columns.flatMap(([, results]) => results.map(([probe]) => groupOf(probe)));
  const unknown = groups.find((group) => GROUPS[group] === undefined);
  if (unknown !== undefined) {
    throw new Error(`The probe group "${unknown}" is not described in scripts/generate/probes.ts.`);
  }
  const rows = Object.entries(GROUPS).map(([group, tries]) => [
    `${group}: ${tries}`,
    ...columns.map(([, results]) => countHeld(results.filter(([probe]) => groupOf(probe) === group))),
  ]);
  const lines = [
    ['What is tried', ...columns.map(([label]) => label)],
    ['---', ...columns.map(() => '---')],
    ...rows,
    ['**all**', ...columns.map(([, results]) => countHeld(results))],
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Each probe with an unexpected result, with its reason. Throws if a reason or its probe is missing. */
export function renderExceptions(): string {
  const byReason = new Map<string, string[]>();
  for (const [label, results] of readColumns()) {
    const expected = EXCEPTIONS[label] ?? {};
    const found = results.filter((result) => !isHeld(result)).map(([probe]) => probe);
    const withoutReason = found.filter((probe) => expected[probe] === undefined);
    const odd = [...withoutReason, ...Object.keys(expected).filter((probe) => !found.includes(probe))];
    if (odd.length > 0) {
      throw new Error(`${label}: ${odd.join(', ')}: does not match test/support/probes/exceptions.ts.`);
    }
    for (const probe of found) {
      const line = `**${label}**: ${expected[probe]}`;
      byReason.set(line, [...(byReason.get(line) ?? []), probe.slice(groupOf(probe).length + 2)]);
    }
  }
  return [...byReason].map(([line, names]) => `- ${line}: ${names.join('; ')}.`).join('\n');
}

/** Label and results of each recorded engine. */
function readColumns(): (readonly [string, Recorded])[] {
  const record = JSON.parse(readFileSync(RECORD_FILE, 'utf8')) as ProbeRecord;
  return ENGINES.flatMap((label) => {
    const results = record[label];
    return results === undefined ? [] : [[label, Object.entries(results)] as const];
  });
}

function countHeld(results: Recorded): string {
  return results.length === 0 ? '–' : `${results.filter(isHeld).length} of ${results.length}`;
}
