import { describe, expect, it } from 'vitest';
import type { Question, Reply } from '../../../src/core/base/cell.ts';
import type { Asker } from '../../../src/core/session/asker.ts';
import { Consent, type ConsentOptions, MAX_QUESTIONS_PER_SESSION } from '../../../src/features/packages/consent.ts';
import { parseRequirement } from '../../../src/features/packages/requirement.ts';
import { Policies } from '../../../src/features/policy/rules/policies.ts';
import { readPolicy } from '../../../src/features/policy/rules/schema.ts';

const requirements = ['pandas>=2', 'obscure-thing'].map(parseRequirement);

const YES: Reply = { action: 'accept', content: { install: true } };

const consent = (mode: ConsentOptions['mode'], rules: readonly unknown[] = []) => {
  const policies = new Policies(readPolicy({ packages: rules }, '/policy.json'), new Map());
  return new Consent({ mode, policy: () => policies });
};
const lookUp = (texts: readonly string[], mode: ConsentOptions['mode'], rules: readonly unknown[], from = call()) =>
  consent(mode, rules).toLookUp(texts.map(parseRequirement), from);
const askToInstall = (wanted: typeof requirements, mode: ConsentOptions['mode'], from: ReturnType<typeof call>) =>
  consent(mode).toLookUp(wanted, from);

function call(reply?: Reply, questions: Question[] = []) {
  const asker: Asker | undefined = reply && {
    code: '',
    opensPages: false,
    ask: async (question) => {
      questions.push(question);
      return reply;
    },
  };
  return { session: 'default', signal: new AbortController().signal, sandbox: {}, asker };
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

describe('what passes with a common name', () => {
  it.each([
    'pandas',
    'pandas>=2',
    'pandas>=2,<3',
    'pandas==2.2.*',
    'pandas~=2.2',
    'pandas==3.0rc1',
    'pdfminer.six==20231228',
  ])('asks no one about %s', async (text) => {
    await expect(lookUp([text], 'common', [])).resolves.toBe('common');
  });

  it.each([
    ['a local version', 'pandas==1.2.3+secretdata'],
    ['any text', 'pandas===c2VjcmV0'],
    ['an extra', 'pandas[secret]'],
    ['a marker', 'pandas; platform_version == "secret"'],
    ['a long version', 'pandas==1.2.3.4.5.6'],
    ['an epoch', 'pandas==7!1.0'],
  ])('asks about %s', async (_, text) => {
    const questions: Question[] = [];
    await expect(lookUp([text], 'common', [])).rejects.toMatchObject({ code: 'APPROVAL_UNAVAILABLE' });
    await expect(lookUp([text], 'common', [], call(YES, questions))).resolves.toBe('user');
    expect(questions[0]?.message).toContain(`    ${parseRequirement(text).text}`);
    // The same for a name that a rule allows.
    await expect(lookUp([text], 'common', [{ effect: 'allow', package: 'pandas' }])).rejects.toMatchObject({
      code: 'APPROVAL_UNAVAILABLE',
    });
  });
});

describe('the policy', () => {
  it('allows an uncommon name, asks about a common one, and denies with any setting', async () => {
    await expect(lookUp(['rare'], 'ask', [{ effect: 'allow', package: 'r*' }])).resolves.toBe('policy');
    await expect(lookUp(['pandas'], 'any', [{ effect: 'ask', package: 'pandas' }])).rejects.toMatchObject({
      code: 'APPROVAL_UNAVAILABLE',
      message: expect.stringContaining('packages[0] of /policy.json asks for approval'),
    });
    await expect(lookUp(['pandas'], 'any', [{ effect: 'deny', package: 'pandas' }])).rejects.toMatchObject({
      code: 'POLICY_DENIED',
      message: 'pandas was not installed: packages[0] of /policy.json denies it',
    });
    await expect(lookUp(['pandas'], 'off', [{ effect: 'allow', package: '*' }])).rejects.toMatchObject({
      code: 'CALL_REFUSED',
    });
  });

  it('judges the chosen versions, dependencies too, and says what needs them', async () => {
    const rules = [
      { effect: 'deny', package: 'numpy', version: '<2', reason: 'old' },
      { effect: 'ask', package: 'six' },
    ];
    const chosen = (version: string) => [
      { name: 'pandas', version: '2.0', needed_by: [] },
      { name: 'Numpy', version, needed_by: ['pandas', 'scipy'] },
    ];
    const wanted = [parseRequirement('pandas')];
    await expect(consent('any', rules).toFetch(chosen('1.26.4'), wanted, call())).rejects.toMatchObject({
      code: 'POLICY_DENIED',
      message: expect.stringContaining(
        'Numpy 1.26.4, which pandas and scipy needs, may not be: packages[0] of /policy.json denies it (old)',
      ),
    });
    await expect(consent('any', rules).toFetch(chosen('2.0'), wanted, call())).resolves.toBe(false);
    const six = [{ name: 'six', version: '1.17.0', needed_by: ['python-dateutil'] }];
    const questions: Question[] = [];
    await expect(consent('any', rules).toFetch(six, wanted, call(YES, questions))).resolves.toBe(true);
    expect(questions[0]?.message).toContain('    six==1.17.0  (needed by python-dateutil)');
    await expect(consent('any', rules).toFetch(six, wanted, call())).rejects.toMatchObject({
      code: 'APPROVAL_UNAVAILABLE',
    });
  });

  it('asks about a version that a rule about versions does not allow', async () => {
    const judge = consent('common', [{ effect: 'allow', package: 'rare', version: '>=2' }]);
    const wanted = [parseRequirement('rare')];
    await expect(judge.toLookUp(wanted, call())).resolves.toBe('policy');
    const chosen = (version: string) => [{ name: 'rare', version, needed_by: [] }];
    await expect(judge.toFetch(chosen('2.1'), wanted, call())).resolves.toBe(false);
    await expect(judge.toFetch(chosen('1.9'), wanted, call())).rejects.toMatchObject({ code: 'APPROVAL_UNAVAILABLE' });
  });
});

describe('questions', () => {
  it('remembers a yes for the session, and a no for the cell', async () => {
    const judge = consent('common');
    const questions: Question[] = [];
    const wanted = [parseRequirement('rare>=2')];
    const yes = call(YES, questions);
    await judge.toLookUp(wanted, yes);
    await judge.toLookUp(wanted, { ...call(YES, questions), sandbox: yes.sandbox });
    await judge.toLookUp([parseRequirement('rare')], { ...call(YES, questions), sandbox: yes.sandbox });
    expect(questions).toHaveLength(1);
    await judge.toLookUp([parseRequirement('rare>=3')], { ...call(YES, questions), sandbox: yes.sandbox });
    expect(questions).toHaveLength(2);
    const no = call({ action: 'decline' }, questions);
    await expect(judge.toLookUp(wanted, no)).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
    await expect(judge.toLookUp(wanted, no)).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
    expect(questions).toHaveLength(3);
  });

  it('stops asking after so many in a session, also if its sandbox is replaced', async () => {
    const judge = consent('common');
    const questions: Question[] = [];
    const ask = (index: number) => judge.toLookUp([parseRequirement(`rare-${index}`)], call(YES, questions));
    for (let index = 0; index < MAX_QUESTIONS_PER_SESSION; index += 1) {
      await ask(index);
    }
    await expect(ask(99)).rejects.toMatchObject({
      code: 'APPROVAL_UNAVAILABLE',
      message: expect.stringContaining('which is the limit'),
    });
    expect(questions).toHaveLength(MAX_QUESTIONS_PER_SESSION);
  });

  it('says that a background job cannot ask, and which command allows it', async () => {
    const wanted = [parseRequirement('rare')];
    await expect(consent('common').toLookUp(wanted, { ...call(), job: 'job-1' })).rejects.toMatchObject({
      message: expect.stringContaining('a background job cannot ask'),
      hint: expect.stringContaining('packages add rare'),
    });
  });
});
