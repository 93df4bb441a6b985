// Tags: anywhere, full
import { describeFaults } from '../support/faults/describe-faults.ts';
import { CLIENT_CASES } from './cases/clients.ts';

await describeFaults({ name: 'clients', cases: CLIENT_CASES });
