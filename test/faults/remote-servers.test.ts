// Tags: anywhere, full
import { describeFaults } from '../support/faults/describe-faults.ts';
import { REMOTE_CASES } from './cases/remote-servers.ts';

await describeFaults({ name: 'remote servers', cases: REMOTE_CASES });
