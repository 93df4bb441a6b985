/** Versions of OCI runtimes with known problems: a table and a pure function that reads it. */
import type { EngineFact } from '../../../core/session/engine.ts';

export interface OciRuntime {
  readonly name: string | undefined;
  /** At most three numbers; undefined if unknown. */
  readonly version: string | undefined;
  /** Name of the distribution's package, which shows its patch level; only podman reports it. */
  readonly package?: string | undefined;
}

interface RuntimeFault {
  readonly runtime: string;
  readonly ids: readonly string[];
  /** The first fixed version of each branch, oldest first. Newer branches were never affected. */
  readonly fixedIn: readonly string[];
}

/** Container escapes. Those that need privileges which our sandboxes never have are not listed. */
const ESCAPES: readonly RuntimeFault[] = [
  // https://github.com/opencontainers/runc/security/advisories/GHSA-xr7r-f8xq-vfvv (January 2024)
  { runtime: 'runc', ids: ['CVE-2024-21626'], fixedIn: ['1.1.12'] },
  // https://github.com/opencontainers/runc/security/advisories: GHSA-9493-h29p-rfm2, GHSA-qw9x-cqr3-wc7r, GHSA-cgrx-mc8f-2prm
  // (November 2025)
  { runtime: 'runc', ids: ['CVE-2025-31133', 'CVE-2025-52565', 'CVE-2025-52881'], fixedIn: ['1.2.8', '1.3.3'] },
];

/**
 * Warnings about a runtime. Distributions patch old versions without changing the version number, which is all that the runtime
 * reports. So the warning is conditional, and names the package so the user can look it up.
 */
export function judgeRuntime(runtime: OciRuntime, cgroupVersion: string | undefined): EngineFact[] {
  const { name, version } = runtime;
  if (name === 'crun' && cgroupVersion === 'v1') {
    // Measured with crun 1.8: "cgroups in hybrid mode not supported".
    const hint = 'If starts fail: install runc and set MCP_BRIDGE_OCI_RUNTIME=runc.';
    return [{ level: 'warning', text: 'crun does not work with a hybrid cgroup hierarchy', hint }];
  }
  const faults = ESCAPES.filter(
    (fault) => fault.runtime === name && version !== undefined && isAffected(fault, version),
  );
  if (faults.length === 0) {
    return [];
  }
  const ids = faults.flatMap((fault) => fault.ids).join(', ');
  const origin = runtime.package === undefined ? '' : ` (package ${runtime.package})`;
  const newest = faults.at(-1)?.fixedIn.join(', ');
  return [
    {
      level: 'warning',
      text: `${name} ${version} has known container escapes (${ids}), unless your distribution has patched it${origin}`,
      hint: `Look for these in the changelog of the package, or update ${name} to ${newest} or newer.`,
    },
  ];
}

function isAffected({ fixedIn }: RuntimeFault, version: string): boolean {
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
