/** Every case of the suite, for the documentation and for the test that none is forgotten. */
import type { FaultCase } from '../../support/faults/fault-case.ts';
import { CALL_CASES } from './calls.ts';
import { ENGINE_CASES } from './engines.ts';
import { PROCESS_CASES } from './processes.ts';
import { SERVER_FAILURE_CASES } from './server-failures.ts';
import { SERVER_WORD_CASES } from './server-words.ts';

export const ALL_CASES: readonly FaultCase[] = [
  ...PROCESS_CASES,
  ...CALL_CASES,
  ...ENGINE_CASES,
  ...SERVER_FAILURE_CASES,
  ...SERVER_WORD_CASES,
];
