import { describe, expect, it } from 'vitest';
import type { CellAnswer } from '../../../src/core/base/cell.ts';
import { NO_OUTPUT } from '../../../src/core/base/cell.ts';
import { LastAnswers } from '../../../src/core/calls/last-answers.ts';
import type { CallContext } from '../../../src/core/session/dispatch.ts';

function answer(session: string, text: string, more: Partial<CellAnswer> = {}): CellAnswer {
  const stdout = { ...NO_OUTPUT, head: text };
  const common = { servers: [], timeoutSeconds: 30, notices: [], stderr: NO_OUTPUT };
  return { status: 'success', cell: 1, session, stdout, ...common, ...more };
}

const ask = (answers: LastAnswers, session: string): Promise<unknown> | undefined =>
  answers.methods[0]?.[1].run({}, { session } as CallContext);

describe('the last answer', () => {
  it('is that of the session itself, as text', async () => {
    const answers = new LastAnswers({ outputMode: 'compact', maxOutputChars: 1_000 });
    expect(await ask(answers, 'a')).toBeNull();
    answers.note(answer('a', 'first'));
    answers.note(answer('b', 'of another'));
    answers.note(answer('a', 'second'));
    expect([await ask(answers, 'a'), await ask(answers, 'b')]).toEqual(['second', 'of another']);
  });

  it('is not that of a cell that did not run', async () => {
    const answers = new LastAnswers({ outputMode: 'compact', maxOutputChars: 1_000 });
    answers.note(answer('a', 'ran'));
    answers.note(answer('a', 'refused', { cell: undefined }));
    expect(await ask(answers, 'a')).toBe('ran');
  });

  it('is kept for a bounded number of sessions', async () => {
    const answers = new LastAnswers({ outputMode: 'compact', maxOutputChars: 1_000 });
    for (let number = 0; number < 100; number += 1) {
      answers.note(answer(`s${number}`, 'text'));
    }
    expect([await ask(answers, 's0'), await ask(answers, 's99')]).toEqual([null, 'text']);
  });
});
