/** Our system-call filter as the programs that bubblewrap and others load. */
import { FILTER_PROGRAMS, FILTER_PROGRAMS_WITHOUT_CGROUP } from './embedded/filter-programs.ts';

/** The filter; undefined for architectures that it does not support. Without a cgroup it also refuses memory of no process. */
export function systemCallFilter(arch: string, hasCgroup = true): Uint8Array | undefined {
  const program = (hasCgroup ? FILTER_PROGRAMS : FILTER_PROGRAMS_WITHOUT_CGROUP)[arch];
  return program === undefined ? undefined : Buffer.from(program, 'base64');
}
