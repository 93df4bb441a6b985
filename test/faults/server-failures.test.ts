// Tags: anywhere, full
import { describeFaults } from '../support/faults/describe-faults.ts';
import { failingServers, SERVER_FAILURE_CASES } from './cases/server-failures.ts';

await describeFaults({
  name: 'servers that fail',
  cases: SERVER_FAILURE_CASES,
  arena: () => ({ servers: failingServers }),
});
