// Tags: full
import { fixtureServer } from '../support/bridge-client.ts';
import { describeFaults } from '../support/faults/describe-faults.ts';
import { FLOOD_CASES } from './cases/floods.ts';
import { FORGED_FRAME_CASES } from './cases/forged-frames.ts';
import { OUTPUT_CASES } from './cases/output.ts';

await describeFaults({
  name: 'frames',
  cases: [...FORGED_FRAME_CASES, ...FLOOD_CASES, ...OUTPUT_CASES],
  arena: () => ({ servers: () => ({ huge: fixtureServer('huge-output.mjs') }) }),
});
