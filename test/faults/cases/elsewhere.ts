/** Cases that this suite does not run, because another suite does, or because they cannot occur. */
import type { CaseElsewhere } from '../../support/faults/fault-case.ts';

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
    where: 'impossible: the bridge only speaks over stdio',
  },
];
