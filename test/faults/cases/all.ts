/** Every case: those of this suite, and those that run elsewhere or cannot occur. */
import type { CaseElsewhere, FaultCase } from '../../support/faults/fault-case.ts';
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

export const CASES_ELSEWHERE: readonly CaseElsewhere[] = [
  {
    id: 'P14',
    title: 'attacks on the Linux kernel: system calls, sockets, namespaces',
    where: 'the probes of `test/integration/security/sandbox.test.ts`, on every engine',
  },
  {
    id: 'C14',
    title: '1,000 calls and 50 sessions in a row, 50 bridges killed: nothing may be left behind',
    where: '`test/e2e/leaks.test.ts`, on every engine',
  },
  {
    id: 'K07',
    title: 'a web page or another user reaches the bridge over HTTP',
    where: '`test/attacks/http.test.ts`: other origins, DNS rebinding, invalid tokens',
  },
];
