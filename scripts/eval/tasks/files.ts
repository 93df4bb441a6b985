/** Tasks on files: small reads and changes, where direct calls are at their best, and large ones. */
import { createRandom } from '../../../test/soak/random.ts';
import type { EvalTask } from './task.ts';
import { expectAnswer } from './task.ts';

const FIRST_NAMES = ['Ada', 'Bruno', 'Chika', 'Dana', 'Emre', 'Freya', 'Goran', 'Hana', 'Ines', 'Jonas'];
const LAST_NAMES = ['Okafor', 'Lindqvist', 'Moreau'];

const contacts = FIRST_NAMES.flatMap((first, index) =>
  LAST_NAMES.map((last, other) => ({
    name: `${first} ${last}`,
    phone: `+49 30 55${index}${other} ${40 + 7 * index + other}`,
  })),
);

const CONTACT: EvalTask = {
  id: 'contact',
  title: 'find one line in one small file',
  build(workspace) {
    workspace.write(
      'contacts.md',
      `# Contacts\n\n${contacts.map(({ name, phone }) => `- ${name}: ${phone}\n`).join('')}`,
    );
  },
  prompt: () =>
    'What is the phone number of Ines Okafor? It is in contacts.md. State it exactly as it is written there.',
  check: (_workspace, answer) => expectAnswer(answer, contacts.find(({ name }) => name === 'Ines Okafor')?.phone ?? ''),
};

const JOURNAL_TEXT = '# House journal\n\n- 2026-09-02: gutters cleaned\n- 2026-10-14: chimney swept\n';
const JOURNAL_LINE = '- 2026-11-23: boiler serviced';

const JOURNAL: EvalTask = {
  id: 'journal',
  title: 'add one line to one file',
  build: (workspace) => workspace.write('house/journal.md', JOURNAL_TEXT),
  prompt: () => `Add the line "${JOURNAL_LINE}" at the end of house/journal.md.`,
  check: ({ read }) =>
    read('house/journal.md')?.trimEnd() === JOURNAL_TEXT + JOURNAL_LINE ? [] : ['house/journal.md is not as asked'],
};

const LOGS = 40;
const LOG_LINES = 60;
const MESSAGES = [
  'payment refused by bank',
  'payment gateway timed out',
  'mail could not be sent',
  'stock is negative',
  'retry after ERROR in payment',
];

/** Level and message are independent, so that a search for one word is not enough. */
function paymentLogs(): { readonly tree: Record<string, string>; readonly errors: number } {
  const random = createRandom(7);
  const tree: Record<string, string> = {};
  let errors = 0;
  for (let file = 0; file < LOGS; file += 1) {
    const lines = Array.from({ length: LOG_LINES }, (_, line) => {
      const level = random.pick(['INFO', 'INFO', 'INFO', 'WARN', 'ERROR']);
      const message = random.pick(MESSAGES);
      errors += level === 'ERROR' && message.includes('payment') ? 1 : 0;
      return `2026-11-${String(1 + (file % 28)).padStart(2, '0')}T08:${String(line).padStart(2, '0')}:00Z ${level} worker-${file % 4} ${message}`;
    });
    tree[`node-${String(file).padStart(2, '0')}.log`] = `${lines.join('\n')}\n`;
  }
  return { tree, errors };
}

const PAYMENT_ERRORS: EvalTask = {
  id: 'payment-errors',
  title: `count lines in ${LOGS} log files`,
  build: (workspace) => workspace.writeTree('logs', paymentLogs().tree),
  prompt: () =>
    'How many lines in the files in logs/ have the level ERROR (the second word of the line) and a message that contains "payment"? State the number.',
  check: (_workspace, answer) => expectAnswer(answer, String(paymentLogs().errors)),
};

const REQUESTS = 900;

function accessLog(): { readonly text: string; readonly top: string } {
  const random = createRandom(19);
  const bytes = new Map<string, number>();
  const lines = Array.from({ length: REQUESTS }, (_, index) => {
    const address = `10.0.${random.below(3)}.${random.below(6) + 10}`;
    const status = random.pick([200, 200, 200, 304, 404, 500]);
    const size = 200 + random.below(90_000);
    if (status === 200) {
      bytes.set(address, (bytes.get(address) ?? 0) + size);
    }
    const second = String(index % 60).padStart(2, '0');
    return `${address} - - [23/Nov/2026:09:${String(Math.floor(index / 60)).padStart(2, '0')}:${second} +0000] "GET /item/${random.below(400)} HTTP/1.1" ${status} ${size}`;
  });
  const top = [...bytes].toSorted(([, a], [, b]) => b - a).slice(0, 3);
  return { text: `${lines.join('\n')}\n`, top: top.map(([address, sum]) => `${address} ${sum}`).join(', ') };
}

const TOP_CLIENTS: EvalTask = {
  id: 'top-clients',
  title: `add up figures in one file of ${REQUESTS} lines`,
  build: (workspace) => workspace.write('web/access.log', accessLog().text),
  prompt: () =>
    'web/access.log lists requests; the last two fields are the status and the bytes sent. Which three client addresses received the most bytes in answers with status 200? State them as "ADDRESS BYTES, ADDRESS BYTES, ADDRESS BYTES", the largest first.',
  check: (_workspace, answer) => expectAnswer(answer, accessLog().top),
};

export const FILE_TASKS: readonly EvalTask[] = [CONTACT, JOURNAL, PAYMENT_ERRORS, TOP_CLIENTS];
