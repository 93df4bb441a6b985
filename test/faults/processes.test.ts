// Tags: full, docker-release, user-release
import { describeFaults } from '../support/faults/describe-faults.ts';
import { PROCESS_CASES } from './cases/processes.ts';
import { DYING_HOST_CASES, RESOURCE_CASES } from './cases/resources.ts';

await describeFaults({ name: 'processes', cases: [...PROCESS_CASES, ...RESOURCE_CASES, ...DYING_HOST_CASES] });
