// Tags: full
import { describeFaults } from '../support/faults/describe-faults.ts';
import { LIFE_CASES } from './cases/lives.ts';

await describeFaults({ name: 'lives of bridges', cases: LIFE_CASES });
