/**
 * The questions of scheduled runs in the state directory, until their runs are over:
 *
 *     questions/ID/question.json         what is asked, and by which run
 *     questions/ID/answer/answer.json    the one answer
 *
 * Both are written in a temporary folder, which is then renamed. Renaming a folder to one that has files fails on every file system, so
 * one writer wins, and a process that is killed leaves all of it or nothing. A file that only one process can create would stay empty if
 * that process were killed, and not every file system has hard links.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { CappedMap } from '../../core/base/capped-map.ts';
import type { Question, Reply } from '../../core/base/cell.ts';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { limitConcurrency } from '../../core/base/limit-concurrency.ts';
import { type Logger, silentLogger } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import {
  type AnsweredAt,
  QUESTIONS_FOLDER,
  type WaitingAnswer,
  type WaitingQuestion,
  type WaitingQuestions,
} from '../../core/base/waiting-question.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { hashText } from '../../core/state/file-consents.ts';
import { withFileLock } from '../../core/state/file-lock.ts';
import { replaceFile } from '../../core/state/file-system.ts';
import { ensureDirectory, readBounded, TEMPORARY_SUFFIX, writeAtomically } from '../../core/state/state-files.ts';

/** Nobody answers more. Chosen. */
const MAX_OPEN = 1_000;
/** The oldest of more are removed. Chosen: a run removes its own when it is over. */
const MAX_ANSWERED = 1_000;
/** The longest form of a server has 32 KiB, and an answer comes in at most 64 KiB. */
const MAX_FILE_BYTES = 256 * 1024;
/** Folders that are read at once: some systems let a process open 256 files. */
const MAX_READERS = 16;
/** A folder that a killed process has left is removed after that. Chosen. */
const MAX_TEMPORARY_AGE_MS = 60 * 60 * 1000;
const ID = /^[0-9a-f]{12}$/;
const ID_CHARS = 12;
const [QUESTION_FILE, ANSWER_FOLDER, ANSWER_FILE] = ['question.json', 'answer', 'answer.json'] as const;

const AskedSchema = z.object({
  version: z.literal(1),
  /** Hash of schedule, run and key. Code can find two keys with the same id, and must not get the answer to one for the other. */
  asks: z.string(),
  schedule: z.string(),
  run: z.string(),
  askedAt: z.string(),
  question: z.discriminatedUnion('mode', [
    z.object({
      mode: z.literal('form'),
      message: z.string(),
      requestedSchema: z.record(z.string(), z.unknown()),
      calls: z.array(z.object({ server: z.string(), tool: z.string(), reason: z.string() })).exactOptional(),
    }),
    z.object({ mode: z.literal('url'), message: z.string(), url: z.string() }),
  ]),
});
const AnsweredSchema = z.object({
  version: z.literal(1),
  /** As in the question. */
  asks: z.string(),
  reply: z.object({
    action: z.enum(['accept', 'decline', 'cancel']),
    content: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])).optional(),
  }),
  by: z.enum(['terminal', 'page', 'client']),
  at: z.string(),
});
type Asked = Omit<z.infer<typeof AskedSchema>, 'question'> & { readonly question: Question };
type Answered = Omit<z.infer<typeof AnsweredSchema>, 'reply'> & { readonly reply: Reply };

interface RunName {
  readonly schedule: string;
  readonly run: string;
}

interface Kept {
  readonly id: string;
  /** Undefined if it cannot be read. */
  readonly asked: Asked | undefined;
  readonly isAnswered: boolean;
}

export class QuestionQueue implements WaitingQuestions {
  readonly #folder: string;
  readonly #logger: Logger;
  /** Files that were named in the log. */
  readonly #reported = new CappedMap<string, true>(MAX_OPEN);

  constructor(stateDir: string, logger: Logger = silentLogger) {
    this.#folder = join(stateDir, QUESTIONS_FOLDER);
    this.#logger = logger;
  }

  /**
   * Adds the question unless the run has it. Resolves with it. Rejects with `STATE_WRITE_FAILED`, and with `APPROVAL_UNAVAILABLE` if
   * too many wait.
   *
   * @param about `key` identifies what is asked within the run.
   */
  async ask(about: RunName & { readonly key: string; readonly question: Question }): Promise<WaitingQuestion> {
    const { question, run, schedule } = about;
    const { asks, id } = identify(about);
    return this.#change(async () => {
      const asked = { version: 1, asks, schedule, run, askedAt: new Date().toISOString(), question } as const;
      const kept = (await this.#question(id)) ?? (await this.#add(id, asked));
      if (kept.asks !== asks) {
        throw new BridgeError('APPROVAL_UNAVAILABLE', `another question has the id ${id}, so this one cannot wait`);
      }
      return shown(id, kept);
    });
  }

  /** The answer to it; undefined as long as there is none. */
  async answerTo(about: RunName & { readonly key: string }): Promise<WaitingAnswer | undefined> {
    const { asks, id } = identify(about);
    const found = await this.#answer(id);
    return found?.asks === asks ? { reply: found.reply, by: found.by, at: found.at } : undefined;
  }

  /** Those without an answer, the oldest first; of one run if given. One that cannot be read is skipped, and named in the log once. */
  async open(of?: RunName): Promise<readonly WaitingQuestion[]> {
    const kept = await this.#all().catch((error: unknown) => {
      this.#report(this.#folder, error);
      return [];
    });
    return kept
      .flatMap(({ asked, id, isAnswered }) => (asked === undefined || isAnswered ? [] : [shown(id, asked)]))
      .filter(({ run, schedule }) => of === undefined || (schedule === of.schedule && run === of.run))
      .toSorted(byTime);
  }

  /**
   * False if there is no such question or it has an answer: exactly one counts, also between processes. Rejects with
   * `STATE_WRITE_FAILED`.
   */
  async answer(id: string, { action, content }: Reply, by: AnsweredAt): Promise<boolean> {
    return this.#change(async () => {
      const asked = ID.test(id) ? await this.#question(id) : undefined;
      if (asked === undefined || (await this.#answer(id)) !== undefined) {
        return false;
      }
      const reply = { action, ...(content !== undefined && { content }) };
      const text = textOf({ version: 1, asks: asked.asks, reply, by, at: new Date().toISOString() });
      const folder = join(this.#folder, id, ANSWER_FOLDER);
      const isFirst = await publish(folder, ANSWER_FILE, text);
      return isFirst || withFileLock(`${folder}.lock`, () => this.#replaceDamaged(id, folder, text));
    }).catch(falseIfGone);
  }

  /** Removes the questions and answers of a run, or of all runs of a schedule. Rejects with `STATE_WRITE_FAILED`. */
  async forget({ run, schedule }: { readonly schedule: string; readonly run?: string }): Promise<void> {
    await this.#change(async () => {
      const kept = await this.#all();
      const own = kept.filter(({ asked }) => asked?.schedule === schedule && (run === undefined || asked.run === run));
      await Promise.all(own.map(({ id }) => remove(join(this.#folder, id))));
    });
  }

  async #add(id: string, asked: Asked): Promise<Asked> {
    const text = textOf(asked);
    await ensureDirectory(this.#folder);
    await this.#makeRoom();
    const folder = join(this.#folder, id);
    if (await publish(folder, QUESTION_FILE, text)) {
      return asked;
    }
    const other = await this.#question(id);
    if (other === undefined) {
      await writeAtomically(join(folder, QUESTION_FILE), [text]);
    }
    return other ?? asked;
  }

  /** Under a lock: of two that find the same damaged answer, the slower would remove what the faster has written. */
  async #replaceDamaged(id: string, folder: string, text: string): Promise<boolean> {
    if ((await this.#answer(id)) !== undefined) {
      return false;
    }
    await remove(folder);
    return publish(folder, ANSWER_FILE, text);
  }

  /** Rejects with `APPROVAL_UNAVAILABLE` if as many wait as may. Those that cannot be read count as well. */
  async #makeRoom(): Promise<void> {
    await this.#sweep();
    const kept = await this.#all();
    const answered = kept.flatMap(({ asked, id, isAnswered }) =>
      asked !== undefined && isAnswered ? [shown(id, asked)] : [],
    );
    if (kept.length - answered.length >= MAX_OPEN) {
      const limit = MAX_OPEN.toLocaleString('en-US');
      throw new BridgeError('APPROVAL_UNAVAILABLE', `${limit} questions of scheduled runs wait, which is the limit`, {
        hint: `Answer some of them. To list them, run: ${COMMAND} approvals`,
      });
    }
    const old = answered.toSorted(byTime).slice(0, Math.max(0, answered.length - MAX_ANSWERED));
    await Promise.all(old.map(({ id }) => remove(join(this.#folder, id))));
  }

  /** Removes what killed processes have left. */
  async #sweep(): Promise<void> {
    for (const name of (await this.#names()).filter((one) => one.endsWith(TEMPORARY_SUFFIX))) {
      const path = join(this.#folder, name);
      // biome-ignore lint/performance/noAwaitInLoops: there are few.
      const found = await stat(path).catch(() => undefined);
      if (found !== undefined && Date.now() - found.mtimeMs > MAX_TEMPORARY_AGE_MS) {
        await rm(path, { recursive: true, force: true });
      }
    }
  }

  async #all(): Promise<readonly Kept[]> {
    const inTurn = limitConcurrency(MAX_READERS);
    const ids = (await this.#names()).filter((name) => ID.test(name));
    const read = async (id: string): Promise<Kept> => {
      try {
        const [asked, answer] = await Promise.all([this.#question(id), this.#answer(id)]);
        return { id, asked, isAnswered: answer !== undefined };
      } catch (error) {
        this.#report(join(this.#folder, id), error);
        return { id, asked: undefined, isAnswered: false };
      }
    };
    return Promise.all(ids.map((id) => inTurn(() => read(id))));
  }

  /** Rejects if the folder cannot be read: then it is not known what waits. */
  async #names(): Promise<readonly string[]> {
    return readdir(this.#folder).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') {
        return [];
      }
      throw error;
    });
  }

  #question(id: string): Promise<Asked | undefined> {
    return this.#read(join(this.#folder, id, QUESTION_FILE), AskedSchema);
  }

  #answer(id: string): Promise<Answered | undefined> {
    return this.#read(join(this.#folder, id, ANSWER_FOLDER, ANSWER_FILE), AnsweredSchema);
  }

  /** Undefined if there is no such file, or it is damaged. Rejects if the system cannot read it now: it may be good. */
  async #read<Content>(path: string, schema: z.ZodType<Content>): Promise<Content | undefined> {
    try {
      const read = readUntrusted(await readBounded(path, MAX_FILE_BYTES), JSON_BOUNDS.request);
      if (!read.ok) {
        throw new Error(`it is ${read.reason}`);
      }
      return schema.parse(read.value);
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined) {
        this.#report(path, error);
      } else if (code !== 'ENOENT') {
        throw error;
      }
      return undefined;
    }
  }

  #report(path: string, error: unknown): void {
    if (!this.#reported.has(path)) {
      this.#reported.set(path, true);
      this.#logger.warning(`${path} was ignored: ${messageOf(error)}`);
    }
  }

  async #change<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof BridgeError) {
        throw cause;
      }
      throw new BridgeError('STATE_WRITE_FAILED', `${this.#folder} could not be changed: ${messageOf(cause)}`, {
        hint: 'Make room on the disk, and make the folder writable.',
        cause,
      });
    }
  }
}

function identify({ key, run, schedule }: RunName & { readonly key: string }): {
  readonly asks: string;
  readonly id: string;
} {
  const asks = hashText(JSON.stringify([schedule, run, key]));
  return { asks, id: asks.slice(0, ID_CHARS) };
}

function shown(id: string, { askedAt, question, run, schedule }: Asked): WaitingQuestion {
  return { id, schedule, run, askedAt, question };
}

function byTime(a: WaitingQuestion, b: WaitingQuestion): number {
  return a.askedAt < b.askedAt ? -1 : 1;
}

/** Throws `APPROVAL_UNAVAILABLE` for what could not be read again. */
function textOf(value: Asked | Answered): string {
  const text = `${JSON.stringify(value, undefined, 2)}\n`;
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_FILE_BYTES) {
    const [size, limit] = [bytes, MAX_FILE_BYTES].map((count) => count.toLocaleString('en-US'));
    throw new BridgeError('APPROVAL_UNAVAILABLE', `it would take ${size} bytes; the limit is ${limit}`);
  }
  return text;
}

/** Makes a folder with one file, as a whole. False if the folder is there already; rejects if its parent is not. */
async function publish(folder: string, name: string, text: string): Promise<boolean> {
  const temporary = `${folder}.${randomUUID()}${TEMPORARY_SUFFIX}`;
  await mkdir(temporary, { mode: 0o700 });
  try {
    await writeAtomically(join(temporary, name), [text]);
    await replaceFile(temporary, folder);
    return true;
  } catch (error) {
    // Windows reports it as a lack of rights.
    if ((await stat(folder).catch(() => undefined)) !== undefined) {
      return false;
    }
    throw error;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** For others, it is gone at once: it is moved away first. */
async function remove(folder: string): Promise<void> {
  const aside = `${folder}.${randomUUID()}${TEMPORARY_SUFFIX}`;
  try {
    await replaceFile(folder, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      return;
    }
    throw error;
  }
  await rm(aside, { recursive: true, force: true });
}

/** The run was forgotten while its question was answered. */
function falseIfGone(error: unknown): false {
  if (error instanceof BridgeError && codeOf(error.cause) === 'ENOENT') {
    return false;
  }
  throw error;
}

/** Of the operating system; undefined for errors of our own. */
function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
