/** Our system-call filter as the programs that bubblewrap and others load. */
import { FILTER_PROGRAMS } from './embedded/filter-programs.ts';

/** The filter; undefined for architectures that it does not support. */
export function systemCallFilter(arch: string): Uint8Array | undefined {
  const program = FILTER_PROGRAMS[arch];
  return program === undefined ? undefined : Buffer.from(program, 'base64');
}
