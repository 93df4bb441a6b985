/** `approvals`: lists, shows and answers the questions of scheduled runs. */
import type { Question, Reply } from '../../core/base/cell.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { escapeInLines, renderJson } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { choiceIn, replyOf } from '../../core/base/replies.ts';
import { quoteShellWord } from '../../core/base/shell-words.ts';
import type { WaitingQuestion } from '../../core/base/waiting-question.ts';
import { type CommandContext, type CommandHost, carryOut, type LineFor } from '../../edges/terminal/command.ts';
import { createTerminalPerson, fillForm } from '../../edges/terminal/terminal-person.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import { ofSchedule } from '../../record/local-api/approval.ts';
import type { ApprovalsCommand } from './command.ts';
import { QuestionQueue } from './question-queue.ts';
import { askerOf, summaryOf, whenAsked } from './text.ts';

export type ApprovalsOptions = Pick<CommandContext, 'settings' | 'logger'> &
  Pick<CommandHost, 'terminal' | 'writeError' | 'writeOut'>;

interface Work extends ApprovalsOptions {
  readonly queue: QuestionQueue;
  /** Prints the result, as JSON with `--json`. */
  readonly print: (json: unknown, text: string) => void;
}

type Allow = LineFor<ApprovalsCommand, 'allow'>;

/** Resolves with the exit code. Rejects with `USAGE_INVALID` for a question that does not wait, or an answer that it does not offer. */
export async function approvals(command: ApprovalsCommand, options: ApprovalsOptions): Promise<number> {
  const { logger, settings, writeOut } = options;
  const print: Work['print'] = (json, text) => writeOut(command.isJson ? renderJson(json) : text);
  const work = { ...options, print, queue: new QuestionQueue(settings.stateDir, logger) };
  return carryOut({ list, show, allow, deny }, command, work);
}

async function list(_command: LineFor<ApprovalsCommand, 'list'>, { print, queue, writeError }: Work): Promise<number> {
  const open = await queue.open();
  const rows = open.map((one) => [one.id, one.schedule, `since ${whenAsked(one)}`, summaryOf(one)]);
  print(open.map(ofSchedule), renderTable(rows, 'No scheduled run waits for an answer.'));
  if (open.length > 0) {
    writeError(`To see one: ${COMMAND} approvals show ID. To answer: ${COMMAND} approvals allow ID, or deny ID\n`);
  }
  return 0;
}

async function show({ question: id }: LineFor<ApprovalsCommand, 'show'>, work: Work): Promise<number> {
  const [asked] = await find([id], work);
  if (asked !== undefined) {
    const { question } = asked;
    const address = question.mode === 'url' ? [question.url] : [];
    const ways = waysToAnswer(question).map((way) => `${COMMAND} approvals allow ${id}${way}`);
    const how = `To answer:\n${[...ways, `${COMMAND} approvals deny ${id}`].map((line) => `    ${line}`).join('\n')}`;
    const parts = [`${askerOf(asked)}, since ${whenAsked(asked)}:`, question.message, ...address, how];
    work.print(ofSchedule(asked), `${escapeInLines(parts.join('\n\n'))}\n`);
  }
  return 0;
}

async function allow(command: Allow, work: Work): Promise<number> {
  const asked = await find(command.ids, work);
  // Nothing is answered if one of them cannot be.
  const given = asked.map((one) => ({ one, reply: typedReply(one, command) }));
  const unclear = given.find(({ reply }) => reply === undefined)?.one;
  const { terminal, writeError } = work;
  if (unclear !== undefined && terminal === undefined) {
    const [first = '', ...others] = waysToAnswer(unclear.question).map((way) => way.trim());
    throw new BridgeError('USAGE_INVALID', `there is no terminal to ask how to answer question ${unclear.id}`, {
      hint: `Add ${[first, ...others].join(', or ')}.`,
    });
  }
  const person = terminal && createTerminalPerson(terminal);
  const replies: Answered[] = [];
  for (const { one, reply } of given) {
    if (reply !== undefined || person === undefined) {
      replies.push({ one, reply: reply ?? { action: 'cancel' } });
    } else {
      writeError(`${askerOf(one)}:\n`);
      // biome-ignore lint/performance/noAwaitInLoops: a person answers one question after the other.
      replies.push({ one, reply: await person.ask(one.question, new AbortController().signal) });
    }
  }
  return settle(replies, work);
}

async function deny({ ids }: LineFor<ApprovalsCommand, 'deny'>, work: Work): Promise<number> {
  const asked = await find(ids, work);
  return settle(
    asked.map((one) => ({ one, reply: { action: 'decline' } })),
    work,
  );
}

interface Answered {
  readonly one: WaitingQuestion;
  /** `cancel` leaves it in the queue. */
  readonly reply: Reply;
}

/** Rejects with `APPROVAL_DENIED` if the person has answered none, and with `USAGE_INVALID` if another answer was faster. */
async function settle(replies: readonly Answered[], { print, queue }: Work): Promise<number> {
  const final = replies.filter(({ reply }) => reply.action !== 'cancel');
  if (final.length === 0) {
    throw new BridgeError('APPROVAL_DENIED', 'nothing was answered');
  }
  const done = await Promise.all(
    final.map(async ({ one, reply }) => ({ one, reply, isCounted: await queue.answer(one.id, reply, 'terminal') })),
  );
  const counted = done
    .filter(({ isCounted }) => isCounted)
    .map(({ one: { id, question, schedule }, reply }) => {
      const choice = choiceIn(question, reply);
      return { id, schedule, action: reply.action, ...(choice !== undefined && { answer: choice }) };
    });
  const words = { accept: 'yes', decline: 'no', cancel: '' };
  print(
    counted,
    counted.map((one) => `Answered ${one.id} (${one.schedule}): ${one.answer ?? words[one.action]}\n`).join(''),
  );
  const late = done.filter(({ isCounted }) => !isCounted).map(({ one }) => one.id);
  if (late.length > 0) {
    throw notWaiting(late);
  }
  return 0;
}

/** Rejects with `USAGE_INVALID` if one of them does not wait. */
async function find(ids: readonly string[], { queue }: Work): Promise<readonly WaitingQuestion[]> {
  const open = await queue.open();
  const unknown = ids.filter((id) => !open.some((one) => one.id === id));
  if (unknown.length > 0) {
    throw notWaiting(unknown);
  }
  return open.filter(({ id }) => ids.includes(id));
}

function notWaiting(ids: readonly string[]): BridgeError {
  return new BridgeError(
    'USAGE_INVALID',
    `no question '${ids.join("', '")}' waits: it has an answer, or there was none`,
    {
      hint: `To list those that wait, run: ${COMMAND} approvals list`,
    },
  );
}

/** What the options say; undefined if the person must choose. Throws `USAGE_INVALID`. */
function typedReply({ id, question }: WaitingQuestion, { duration, fields }: Allow): Reply | undefined {
  if (question.mode === 'url') {
    return { action: 'accept' };
  }
  if (duration !== undefined) {
    const reply = replyOf(question, { answer: duration });
    if (typeof reply === 'string') {
      throw new BridgeError('USAGE_INVALID', `question ${id} does not offer --for ${duration}`, {
        hint: `To see what it offers, run: ${COMMAND} approvals show ${id}`,
      });
    }
    return reply;
  }
  if (fields.length === 0 && fieldsOf(question).length > 0) {
    return undefined;
  }
  const typed = fields.map(
    (field) => [field.slice(0, field.indexOf('=')), field.slice(field.indexOf('=') + 1)] as const,
  );
  return { action: 'accept', content: fillForm(question.requestedSchema, new Map(typed)) };
}

/** What follows `approvals allow ID`, each with a blank before it. */
function waysToAnswer(question: Question): readonly string[] {
  const words = ['once', 'always'].filter((word) => typeof replyOf(question, { answer: word }) === 'object');
  if (words.length > 0) {
    return words.map((word) => ` --for ${word}`);
  }
  const fields = question.mode === 'form' ? fieldsOf(question) : [];
  return [fields.map((name) => ` --field ${quoteShellWord(`${name}=VALUE`)}`).join('')];
}

function fieldsOf({ requestedSchema: { properties } }: Extract<Question, { mode: 'form' }>): readonly string[] {
  return isObject(properties) ? Object.keys(properties) : [];
}
