/** Versions of OCI runtimes that are known to give trouble: one table, read by a pure function. */
import type { EngineFact } from '../engine.ts';

export interface OciRuntime {
  readonly name: string | undefined;
  /** Three numbers at most; undefined when it is not known. */
  readonly version: string | undefined;
  /** As the distribution names its package, with its own patches in the name; podman tells it. */
  readonly package?: string | undefined;
}

interface RuntimeFault {
  readonly runtime: string;
  readonly ids: readonly string[];
  /** First version without it in each branch, the oldest first. A branch newer than these never had it. */
  readonly fixedIn: readonly string[];
}

/** Ways out of a container. Those that need rights which a sandbox of ours never has are left out. */
const WAYS_OUT: readonly RuntimeFault[] = [
  // https://github.com/opencontainers/runc/security/advisories/GHSA-xr7r-f8xq-vfvv (January 2024)
  { runtime: 'runc', ids: ['CVE-2024-21626'], fixedIn: ['1.1.12'] },
  // https://github.com/opencontainers/runc/security/advisories: GHSA-9493-h29p-rfm2, GHSA-qw9x-cqr3-wc7r, GHSA-cgrx-mc8f-2prm
  // (November 2025)
  { runtime: 'runc', ids: ['CVE-2025-31133', 'CVE-2025-52565', 'CVE-2025-52881'], fixedIn: ['1.2.8', '1.3.3'] },
];

/**
 * Warnings about a runtime. Distributions mend old versions without changing their number, and the number is all that is told:
 * hence the reservation, and the name of the package, by which a user can look it up.
 */
export function judgeRuntime(runtime: OciRuntime, cgroupVersion: string | undefined): EngineFact[] {
  const { name, version } = runtime;
  if (name === 'crun' && cgroupVersion === 'v1') {
    // Measured with crun 1.8: "cgroups in hybrid mode not supported".
    const hint = 'If starts fail: install runc and set MCP_BRIDGE_OCI_RUNTIME=runc.';
    return [{ level: 'warning', text: 'crun does not run on mixed cgroup hierarchies', hint }];
  }
  const faults = WAYS_OUT.filter((fault) => fault.runtime === name && version !== undefined && has(fault, version));
  if (faults.length === 0) {
    return [];
  }
  const ids = faults.flatMap((fault) => fault.ids).join(', ');
  const origin = runtime.package === undefined ? '' : ` (its package here: ${runtime.package})`;
  const newest = faults.at(-1)?.fixedIn.join(', ');
  return [
    {
      level: 'warning',
      text: `${name} ${version} has known ways out of a container (${ids}), unless your distribution has patched it${origin}`,
      hint: `Look these up in the changelog of the package, or update ${name} to ${newest} or newer.`,
    },
  ];
}

function has({ fixedIn }: RuntimeFault, version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = numbersOf(version);
  for (const fixed of fixedIn.map(numbersOf)) {
    const [fixedMajor = 0, fixedMinor = 0, fixedPatch = 0] = fixed;
    if (major < fixedMajor || (major === fixedMajor && minor < fixedMinor)) {
      return true;
    }
    if (major === fixedMajor && minor === fixedMinor) {
      return patch < fixedPatch;
    }
  }
  return false;
}

function numbersOf(version: string): number[] {
  return version.split('.').map(Number);
}
