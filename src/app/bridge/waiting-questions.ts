/**
 * Plugs in what scheduled runs have to say: their questions for the local API, and questions and ends for the chats of the user of the
 * machine. Their modules are loaded late.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CappedMap } from '../../core/base/capped-map.ts';
import type { CellRequest, Person } from '../../core/base/cell.ts';
import { Countdown } from '../../core/base/countdown.ts';
import type { Logger } from '../../core/base/log.ts';
import { QUESTIONS_FOLDER, type WaitingQuestions } from '../../core/base/waiting-question.ts';
import { CellAsker } from '../../core/session/asker.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type * as feature from '../../features/waiting-questions/index.ts';
import type { Basis } from './basis.ts';

/** The folder of schedules in the state directory. */
const SCHEDULES = 'schedules';
/** How often an answer looks for runs that have ended. Chosen: as often as they begin. */
const NEWS_MS = 60_000;
/** Sessions whose first cell was seen. Chosen: as many as are remembered otherwise. */
const MAX_SESSIONS = 1_000;

export interface WaitingInChat {
  /** Asks before a cell of `request`. Never rejects. */
  ask(person: Person, request: Pick<CellRequest, 'code' | 'signal'>): Promise<void>;
  /**
   * What an answer says: how scheduled runs have ended since an answer said so, and in the first one of a session what waits for a
   * client that cannot ask. Undefined if there is nothing to look for. Never rejects.
   */
  notices(session: string, canAsk: boolean): Promise<readonly string[]> | undefined;
}

export function waitingQuestions({ stateDir }: Pick<Settings, 'stateDir'>, logger: Logger): WaitingQuestions {
  const open = later(({ QuestionQueue }) => new QuestionQueue(stateDir, logger));
  return {
    open: async (of) => (await open()).open(of),
    answer: async (...given) => (await open()).answer(...given),
  };
}

/** Undefined for principals, whose the questions are not, and for commands, one of which is the run that has asked. */
export function createWaitingInChat({ logger, options, settings }: Basis): WaitingInChat | undefined {
  const { client, principal, replay } = options;
  if (client === undefined || replay !== undefined || principal?.name !== undefined) {
    return undefined;
  }
  const { approvalTimeoutMs: timeoutMs, stateDir } = settings;
  const sessions = new CappedMap<string, true>(MAX_SESSIONS);
  let lookedAt = Number.NEGATIVE_INFINITY;
  const open = later(({ ChatQuestions, QuestionQueue }) => {
    return new ChatQuestions(new QuestionQueue(stateDir, logger), logger);
  });
  // Most users have no schedules: they pay for this look only.
  const openIfAny = async () => {
    const names = await readdir(join(stateDir, QUESTIONS_FOLDER)).catch(() => []);
    return names.length === 0 ? undefined : open();
  };
  return {
    async ask(person, { code, signal = new AbortController().signal }) {
      const questions = await openIfAny();
      if (questions !== undefined) {
        const asker = new CellAsker({ person, code, clock: new Countdown(timeoutMs), timeoutMs });
        await questions.ask(asker, signal);
        asker.close();
      }
    },
    notices(session, canAsk) {
      const isWaitingTold = canAsk || sessions.has(session);
      sessions.set(session, true);
      const now = performance.now();
      const isNewsTold = now - lookedAt < NEWS_MS;
      if (isWaitingTold && isNewsTold) {
        return undefined;
      }
      lookedAt = isNewsTold ? lookedAt : now;
      return Promise.all([
        isNewsTold ? [] : newsIfAny(stateDir),
        isWaitingTold ? undefined : openIfAny().then((questions) => questions?.notice()),
      ]).then(([news, waits]) => (waits === undefined ? news : [...news, waits]));
    },
  };
}

async function newsIfAny(stateDir: string): Promise<readonly string[]> {
  const names = await readdir(join(stateDir, SCHEDULES)).catch(() => []);
  return names.length === 0 ? [] : (await import('../schedule/index.ts')).takeNews(stateDir);
}

function later<Value>(make: (modules: typeof feature) => Value): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= import('../../features/waiting-questions/index.ts').then(make);
    return made;
  };
}
