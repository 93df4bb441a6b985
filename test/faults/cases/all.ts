/** Every case of the suite, for the documentation and for the test that none is forgotten. */
import type { FaultCase } from '../../support/faults/fault-case.ts';
import { PROCESS_CASES } from './processes.ts';

export const ALL_CASES: readonly FaultCase[] = [...PROCESS_CASES];
