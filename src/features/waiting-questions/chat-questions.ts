/**
 * Questions of scheduled runs in the next chat of a client: they are asked before the first cell of a session, or its answer says that
 * they wait. What gets no answer stays in the queue, and one bridge asks or mentions it once.
 */
import { CappedMap } from '../../core/base/capped-map.ts';
import type { Question, Reply } from '../../core/base/cell.ts';
import { messageOf } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { choiceIn, choicesOf } from '../../core/base/replies.ts';
import type { WaitingQuestion, WaitingQuestions } from '../../core/base/waiting-question.ts';
import { listOf } from '../../core/catalog/json-schema.ts';
import type { Asker } from '../../core/session/asker.ts';
import { askerOf, whenAsked } from './text.ts';

/** Before one cell. Chosen: it waits for them. */
const MAX_ASKED = 3;
/** As many as can wait. */
const MAX_KNOWN = 1_000;

export class ChatQuestions {
  readonly #queue: WaitingQuestions;
  readonly #logger: Logger;
  /** Ids of those that were asked or mentioned. */
  readonly #known = new CappedMap<string, true>(MAX_KNOWN);

  constructor(queue: WaitingQuestions, logger: Logger) {
    this.#queue = queue;
    this.#logger = logger;
  }

  /** Asks the oldest ones. Never rejects. */
  async ask(asker: Asker, signal: AbortSignal): Promise<void> {
    try {
      const all = await this.#takeNew(({ question }) => question.mode === 'form' || asker.opensPages, MAX_ASKED);
      for (const one of all) {
        const message = `${askerOf(one)}, has waited for an answer since ${whenAsked(one)}.\n\n${one.question.message}`;
        // biome-ignore lint/performance/noAwaitInLoops: a person answers one question after the other.
        const reply = await asker.ask({ ...one.question, message }, signal);
        if (isAnswer(one.question, reply)) {
          await this.#queue.answer(one.id, reply, 'client');
        }
      }
    } catch (error) {
      this.#logger.info(`A question of a scheduled run got no answer: ${messageOf(error)}`);
    }
  }

  /** One sentence about those that wait; undefined if there are no new ones. Never rejects. */
  async notice(): Promise<string | undefined> {
    const all = await this.#takeNew(() => true, MAX_KNOWN).catch(() => []);
    const [oldest] = all;
    if (oldest === undefined) {
      return undefined;
    }
    const which = all.length === 1 ? 'Its question' : `The ${all.length} questions of scheduled runs`;
    const wait = `Schedule '${oldest.schedule}' has waited for an answer since ${whenAsked(oldest)}.`;
    return `${wait} ${which} can be answered by the user with: ${COMMAND} approvals`;
  }

  /** At most `max` of those that are not known and can be asked here, which are known from now on. */
  async #takeNew(canBe: (question: WaitingQuestion) => boolean, max: number): Promise<readonly WaitingQuestion[]> {
    const open = await this.#queue.open();
    const fresh = open.filter((one) => !this.#known.has(one.id) && canBe(one)).slice(0, max);
    fresh.forEach(({ id }) => this.#known.set(id, true));
    return fresh;
  }
}

/** A client that accepts a form by itself has answered nothing. */
function isAnswer(question: Question, reply: Reply): boolean {
  if (reply.action !== 'accept' || question.mode === 'url') {
    return reply.action !== 'cancel';
  }
  const { content = {} } = reply;
  const isWhole = listOf(question.requestedSchema['required']).every((name) => content[String(name)] !== undefined);
  return isWhole && (choicesOf(question).length === 0 || choiceIn(question, reply) !== undefined);
}
