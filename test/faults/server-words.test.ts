// Tags: anywhere, full
import { describeFaults } from '../support/faults/describe-faults.ts';
import { SERVER_WORD_CASES, talkingServers } from './cases/server-words.ts';

await describeFaults({
  name: 'servers whose words are the danger',
  cases: SERVER_WORD_CASES,
  arena: () => ({ servers: talkingServers }),
});
