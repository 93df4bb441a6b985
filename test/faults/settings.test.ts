// Tags: anywhere, full
import { describeFaults } from '../support/faults/describe-faults.ts';
import { oddEntries, SETTING_CASES } from './cases/settings.ts';

await describeFaults({ name: 'settings and names', cases: SETTING_CASES, arena: () => ({ servers: oddEntries }) });
