/** Cases that this suite does not run: they are another suite's, or about something that does not exist. */
import type { CaseElsewhere } from '../../support/faults/fault-case.ts';

export const CASES_ELSEWHERE: readonly CaseElsewhere[] = [
  {
    id: 'P14',
    title: 'reaching for the kernel: system calls, sockets, namespaces',
    where: 'the probes of `test/integration/security/sandbox.test.ts`, on every engine',
  },
  {
    id: 'C14',
    title:
      '1,000 calls in a row, 50 sessions in a row, 50 bridges killed: memory, descriptors, processes, containers, files',
    where: '`test/e2e/leaks.test.ts`, on every engine',
  },
  {
    id: 'K07',
    title: 'a web page, or another user, talks to the bridge over HTTP',
    where: 'no such surface: the bridge speaks over stdio alone',
  },
];
