/** `runtime.last_answer()`: the last answer of each session, because an answer is lost if the connection breaks before it arrives. */
import { z } from 'zod';
import { CappedMap } from '../base/capped-map.ts';
import type { CellAnswer } from '../base/cell.ts';
import type { CallMethod } from '../protocol/frames.ts';
import { type OutputMode, renderAnswer } from '../render/render.ts';
import { checked, type Method } from './method.ts';

/** Sessions whose last answer is kept: each can have a megabyte of output. Chosen: as many as are live by default. */
const MAX_KEPT = 16;

interface RenderSettings {
  readonly outputMode: OutputMode;
  readonly maxOutputChars: number;
}

export class LastAnswers {
  readonly #settings: RenderSettings;
  readonly #bySession = new CappedMap<string, CellAnswer>(MAX_KEPT);

  constructor({ maxOutputChars, outputMode }: RenderSettings) {
    this.#settings = { maxOutputChars, outputMode };
  }

  /** Keeps the answer of a cell that has run, without images and other content, which may be large. */
  note({ attachments: _attachments, ...answer }: CellAnswer): void {
    if (answer.cell === undefined) {
      return;
    }
    this.#bySession.set(answer.session, answer);
  }

  get methods(): [CallMethod, Method][] {
    const lastAnswer = checked(z.strictObject({}), async (_, { session }) => {
      const answer = this.#bySession.get(session);
      const { maxOutputChars, outputMode } = this.#settings;
      return answer === undefined ? null : (await renderAnswer(answer, outputMode, maxOutputChars)).content[0].text;
    });
    return [['last_answer', lastAnswer]];
  }
}
