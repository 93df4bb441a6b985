/** Every case of the suite, for the documentation and for the test that none is forgotten. */
import type { FaultCase } from '../../support/faults/fault-case.ts';
import { CALL_CASES } from './calls.ts';
import { CLIENT_CASES } from './clients.ts';
import { ENGINE_CASES } from './engines.ts';
import { FLOOD_CASES } from './floods.ts';
import { FORGED_FRAME_CASES } from './forged-frames.ts';
import { LIFE_CASES } from './lives.ts';
import { OUTPUT_CASES } from './output.ts';
import { PROCESS_CASES } from './processes.ts';
import { REMOTE_CASES } from './remote-servers.ts';
import { DYING_HOST_CASES, RESOURCE_CASES } from './resources.ts';
import { SERVER_FAILURE_CASES } from './server-failures.ts';
import { SERVER_WORD_CASES } from './server-words.ts';
import { SETTING_CASES } from './settings.ts';

export const ALL_CASES: readonly FaultCase[] = [
  ...FORGED_FRAME_CASES,
  ...FLOOD_CASES,
  ...OUTPUT_CASES,
  ...PROCESS_CASES,
  ...RESOURCE_CASES,
  ...DYING_HOST_CASES,
  ...CALL_CASES,
  ...LIFE_CASES,
  ...ENGINE_CASES,
  ...SERVER_FAILURE_CASES,
  ...SERVER_WORD_CASES,
  ...REMOTE_CASES,
  ...SETTING_CASES,
  ...CLIENT_CASES,
];
