import { describeFaults } from '../support/faults/describe-faults.ts';
import { PROCESS_CASES } from './cases/processes.ts';

await describeFaults({ name: 'processes', cases: PROCESS_CASES });
