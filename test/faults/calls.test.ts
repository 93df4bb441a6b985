// Tags: anywhere
import { describeFaults } from '../support/faults/describe-faults.ts';
import { CALL_CASES, slowServers } from './cases/calls.ts';

await describeFaults({ name: 'calls and sessions', cases: CALL_CASES, arena: () => ({ servers: slowServers }) });
