import { describe, expect, it } from 'vitest';
import type { Question, Reply } from '../../../src/base/cell.ts';
import { askToInstall } from '../../../src/packages/consent.ts';
import { parseRequirement } from '../../../src/packages/requirement.ts';
import type { Asker } from '../../../src/session/asker.ts';

const requirements = ['pandas>=2', 'obscure-thing'].map(parseRequirement);

function call(reply?: Reply, questions: Question[] = []) {
  const asker: Asker | undefined = reply && {
    code: '',
    opensPages: false,
    ask: async (question) => {
      questions.push(question);
      return reply;
    },
  };
  return { session: 'default', signal: new AbortController().signal, asker };
}

describe('askToInstall', () => {
  it('asks no one if the setting or the list allows it', async () => {
    await expect(askToInstall(requirements, 'any', call())).resolves.toBe('setting');
    await expect(askToInstall(requirements.slice(0, 1), 'common', call())).resolves.toBe('common');
  });

  it('asks about names outside the list, and shows all of the request', async () => {
    const questions: Question[] = [];
    const reply = { action: 'accept' as const, content: { install: true } };
    await expect(askToInstall(requirements, 'common', call(reply, questions))).resolves.toBe('user');
    expect(questions[0]?.message).toContain('    pandas>=2\n    obscure-thing');
  });

  it('asks about common names too with `ask`', async () => {
    await expect(askToInstall(requirements.slice(0, 1), 'ask', call())).rejects.toMatchObject({
      code: 'APPROVAL_UNAVAILABLE',
      message: expect.stringContaining('MCP_BRIDGE_PACKAGES is ask'),
    });
  });

  it.each<Reply>([
    { action: 'accept', content: {} },
    { action: 'accept', content: { install: false } },
    { action: 'accept', content: { install: 'yes' } },
    { action: 'accept' },
    { action: 'decline' },
    { action: 'cancel' },
  ])('takes %j for a no', async (reply) => {
    await expect(askToInstall(requirements, 'common', call(reply))).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
  });

  it('suggests the common package that a name resembles', async () => {
    await expect(askToInstall([parseRequirement('pandsa')], 'common', call())).rejects.toMatchObject({
      hint: expect.stringMatching(/Did you mean 'pandas'/),
    });
  });

  it('names a way out if no one can be asked, and if packages are off', async () => {
    await expect(askToInstall(requirements, 'common', call())).rejects.toMatchObject({
      code: 'APPROVAL_UNAVAILABLE',
      hint: expect.stringContaining('image build --packages obscure-thing'),
    });
    await expect(askToInstall(requirements, 'off', call())).rejects.toMatchObject({ code: 'CALL_REFUSED' });
  });
});
