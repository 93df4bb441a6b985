/** When the person is asked, what an answer covers, and how a question ends without one. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type CancelSignal, CancelSource } from '../../../src/core/base/cancel.ts';
import type { Question, Reply } from '../../../src/core/base/cell.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import type { CallToApprove } from '../../../src/core/calls/contract.ts';
import type { Asker } from '../../../src/core/session/asker.ts';
import type { CallContext } from '../../../src/core/session/dispatch.ts';
import { createCellApprovals } from '../../../src/features/approvals/cell-approvals.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const call = (tool: string, given: Record<string, unknown> = {}): CallToApprove => ({
  server: 'github',
  tool,
  alias: tool,
  parameters: Object.keys(given),
  arguments: given,
  reason: 'rule 1 asks',
});

interface Asked {
  readonly question: Question;
  readonly signal: CancelSignal;
  readonly reply: (reply: Reply) => void;
  readonly fail: (error: BridgeError) => void;
}

function createAsker(code = '') {
  const asked: Asked[] = [];
  const asker: Asker = {
    code,
    opensPages: false,
    ask: (question, signal) =>
      new Promise((resolve, reject) => {
        asked.push({ question, signal, reply: resolve, fail: reject });
        signal.addEventListener('abort', () =>
          reject(new BridgeError('CALL_CANCELLED', 'the call that asked was ended')),
        );
      }),
  };
  return { asker, asked };
}

function setUp() {
  const approvals = createCellApprovals({
    mask: (message) => JSON.parse(JSON.stringify(message).replaceAll('hunter2hunter2', '***')) as typeof message,
    policyFile: '/home/ada/MCPs/policy.json',
  });
  const sandbox = {};
  const never = new CancelSource();
  const context = (more: Partial<CallContext>): CallContext => ({
    session: 'default',
    generation: 1,
    cell: 1,
    call: 1,
    loaded: new Set(),
    signal: never,
    sandbox,
    ...more,
  });
  /** Resolves with `allowed`, or with the code and message of the refusal. */
  const approve = (what: CallToApprove, more: Partial<CallContext>): Promise<string> =>
    approvals.approve(what, context(more)).then(
      () => 'allowed',
      (error: unknown) => `${(error as BridgeError).code}: ${(error as BridgeError).message}`,
    );
  return { approvals, approve, context };
}

/** Advances the clock past the time in which calls are collected. */
const collected = () => vi.advanceTimersByTimeAsync(50);
const answer = (label: string, more: Record<string, string> = {}): Reply => ({
  action: 'accept',
  content: { answer: label, ...more },
});

describe('calls that arrive together', () => {
  it('share one question, in which identical calls appear once', async () => {
    const { approve } = setUp();
    const { asker, asked } = createAsker();
    const made = [call('close', { id: 1 }), call('close', { id: 2 }), call('close', { id: 1 })].map((what) =>
      approve(what, { asker }),
    );
    await collected();
    expect(asked).toHaveLength(1);
    expect(asked[0]?.question.message).toContain('make 2 different tool calls');
    expect(asked[0]?.question.message).toContain('Times: 2, with the same arguments');
    asked[0]?.reply(answer('Allow once', { call_2: 'Do not allow' }));
    expect(await Promise.all(made)).toEqual([
      'allowed',
      'APPROVAL_DENIED: github.close was not called: the user was asked and said no',
      'allowed',
    ]);
  });

  it('while a question is open go into the next, unless its answer covers them', async () => {
    const { approve } = setUp();
    const { asker, asked } = createAsker();
    const first = approve(call('close', { id: 1 }), { asker });
    await collected();
    const later = [call('close', { id: 2 }), call('open', { id: 3 })].map((what) => approve(what, { asker }));
    await collected();
    expect(asked).toHaveLength(1);
    asked[0]?.reply(answer('Allow for this cell'));
    expect(await first).toBe('allowed');
    await collected();
    expect(asked).toHaveLength(2);
    expect(asked[1]?.question.message).toContain('Tool: open');
    asked[1]?.reply(answer('Allow once'));
    expect(await Promise.all(later)).toEqual(['allowed', 'allowed']);
  });

  // The person was asked again about a call that they had just refused.
  it('while a question is open are refused with it, if they are identical', async () => {
    const { approve } = setUp();
    const { asker, asked } = createAsker();
    const made = [approve(call('close', { id: 1 }), { asker })];
    await collected();
    made.push(approve(call('close', { id: 1 }), { asker }));
    await collected();
    asked[0]?.reply(answer('Do not allow'));
    await collected();
    expect(asked).toHaveLength(1);
    const refusal = 'APPROVAL_DENIED: github.close was not called: the user was asked and said no';
    expect(await Promise.all(made)).toEqual([refusal, refusal]);
  });

  // A call can be cancelled while its server starts; the person was asked about it anyway.
  it('are left out if they are already cancelled', async () => {
    const { approve } = setUp();
    const { asker, asked } = createAsker();
    const given = new CancelSource();
    given.abort();
    const made = approve(call('close'), { asker, signal: given });
    await collected();
    expect(asked).toEqual([]);
    expect(await made).toBe('CALL_CANCELLED: github.close was not called: it was cancelled');
  });

  it('are split into forms of readable length', async () => {
    const { approve } = setUp();
    const { asker, asked } = createAsker();
    const made = Array.from({ length: 25 }, (_, id) => approve(call('close', { id }), { asker }));
    for (let form = 0; form < 3; form += 1) {
      await collected();
      asked[form]?.reply(answer('Allow once'));
    }
    expect(await Promise.all(made)).toEqual(made.map(() => 'allowed'));
    expect(asked.map(({ question }) => /make (\d+) /.exec(question.message)?.[1])).toEqual(['10', '10', '5']);
  });

  it('are split so that each is shown whole', async () => {
    const { approve } = setUp();
    const { asker, asked } = createAsker();
    const made = Array.from({ length: 4 }, (_, id) =>
      approve(call('close', { id, body: 'x'.repeat(4_000) }), { asker }),
    );
    for (let form = 0; form < 2; form += 1) {
      await collected();
      asked[form]?.reply(answer('Allow once'));
    }
    expect(await Promise.all(made)).toEqual(made.map(() => 'allowed'));
    expect(asked.map(({ question }) => /make (\d+) /.exec(question.message)?.[1])).toEqual(['2', '2']);
  });

  it('from different cells get separate questions', async () => {
    const { approve } = setUp();
    const [one, two] = [createAsker(), createAsker()];
    void approve(call('close'), { asker: one.asker });
    void approve(call('close'), { asker: two.asker });
    await collected();
    expect([one.asked.length, two.asked.length]).toEqual([1, 1]);
  });
});

describe('an answer', () => {
  it.each([
    ['Allow once', 'once', undefined],
    ['Allow for this cell', 'cell', 'cell'],
    ['Allow for this session', 'session', 'session'],
  ])('%s covers later calls accordingly', async (label, first, later) => {
    const { approvals, context } = setUp();
    const { asker, asked } = createAsker();
    const made = approvals.approve(call('close', { id: 1 }), context({ asker }));
    await collected();
    // Arrives after the question was sent, and waits for the next one.
    const meanwhile = approvals.approve(call('close', { id: 2 }), context({ asker }));
    asked[0]?.reply(answer(label));
    expect(await made).toBe(first);
    await collected();
    asked[1]?.reply(answer('Allow once'));
    expect(await meanwhile).toBe(later ?? 'once');
    if (later !== undefined) {
      expect(await approvals.approve(call('close', { id: 3 }), context({ asker }))).toBe(later);
    }
  });

  async function asksAgain(label: string, second: Partial<CallContext> = {}, what = call('close', { id: 1 })) {
    const { approve } = setUp();
    const { asker, asked } = createAsker();
    const first = approve(call('close', { id: 1 }), { asker });
    await collected();
    asked[0]?.reply(answer(label));
    await first;
    const other = createAsker();
    void approve(what, { asker, ...(second.asker === undefined ? second : { ...second, asker: other.asker }) });
    await collected();
    return asked.length + other.asked.length > 1;
  }
  const nextCell = { asker: createAsker().asker };
  const nextSandbox = { ...nextCell, sandbox: {} };

  it('for once covers one call', async () => {
    expect(await asksAgain('Allow once')).toBe(true);
  });

  it('for the cell covers other arguments, but not the next cell', async () => {
    expect(await asksAgain('Allow for this cell', {}, call('close', { id: 2 }))).toBe(false);
    expect(await asksAgain('Allow for this cell', {}, call('open', { id: 1 }))).toBe(true);
    expect(await asksAgain('Allow for this cell', nextCell)).toBe(true);
  });

  it('for the session covers the next cell, but not the next sandbox', async () => {
    expect(await asksAgain('Allow for this session', nextCell, call('close', { id: 2 }))).toBe(false);
    expect(await asksAgain('Allow for this session', nextCell, { ...call('close'), server: 'other' })).toBe(true);
    expect(await asksAgain('Allow for this session', nextSandbox)).toBe(true);
  });

  it('for the session covers background jobs, which cannot ask', async () => {
    expect(await asksAgain('Allow for this session', { asker: undefined, job: 'watch' })).toBe(false);
    const { approve, approvals, context } = setUp();
    expect(await approve(call('close'), { job: 'watch' })).toBe(
      'APPROVAL_UNAVAILABLE: github.close was not called: rule 1 asks, and a background job cannot ask',
    );
    await expect(approvals.approve(call('close'), context({ job: 'watch' }))).rejects.toMatchObject({
      hint: expect.stringContaining('Make the call in a cell.'),
    });
  });

  it('of no covers the same call for the rest of the cell', async () => {
    expect(await asksAgain('Do not allow')).toBe(false);
    expect(await asksAgain('Do not allow', {}, call('close', { id: 2 }))).toBe(true);
    expect(await asksAgain('Do not allow', nextCell)).toBe(true);
  });

  it.each<[string, Reply, string]>([
    ['a no', { action: 'decline' }, 'the user was asked and said no'],
    ['a closed window', { action: 'cancel' }, 'the user was asked and closed the question without an answer'],
    ['a yes to nothing', { action: 'accept' }, 'the user was asked, and the reply contains no answer'],
  ])('is reported as %s', async (_, reply, why) => {
    const { approve } = setUp();
    const { asker, asked } = createAsker();
    const made = approve(call('close'), { asker });
    await collected();
    asked[0]?.reply(reply);
    expect(await made).toBe(`APPROVAL_DENIED: github.close was not called: ${why}`);
  });
});

describe('without an answer', () => {
  it('a client that cannot ask gets the rule that would allow the call', async () => {
    const { approvals, context } = setUp();
    await expect(approvals.approve(call('close'), context({}))).rejects.toMatchObject({
      code: 'APPROVAL_UNAVAILABLE',
      message:
        'github.close was not called: rule 1 asks, and this client cannot ask (it does not support elicitation; exec asks only at a terminal)',
      hint: 'Only the user can allow this call, by adding {"effect":"allow","server":"github","tool":"close"} as the first of "rules" in /home/ada/MCPs/policy.json.',
    });
  });

  it('each call of a failed question is refused with the reason', async () => {
    const { approve } = setUp();
    const { asker, asked } = createAsker();
    const made = [approve(call('close'), { asker }), approve(call('open'), { asker })];
    await collected();
    asked[0]?.fail(new BridgeError('APPROVAL_TIMEOUT', 'no one answered the question within 1 s'));
    expect(await Promise.all(made)).toEqual([
      'APPROVAL_TIMEOUT: github.close was not called: no one answered the question within 1 s',
      'APPROVAL_TIMEOUT: github.open was not called: no one answered the question within 1 s',
    ]);
    // A timeout is not an answer, so the same call asks again.
    void approve(call('close'), { asker });
    await collected();
    expect(asked).toHaveLength(2);
  });

  it('a cancelled call leaves the question open for the others, and the last one withdraws it', async () => {
    const { approve } = setUp();
    const { asker, asked } = createAsker();
    const [one, two] = [new CancelSource(), new CancelSource()];
    const made = [approve(call('close'), { asker, signal: one }), approve(call('open'), { asker, signal: two })];
    await collected();
    one.abort();
    expect(await made[0]).toContain('CALL_CANCELLED: github.close was not called');
    expect(asked[0]?.signal.aborted).toBe(false);
    two.abort();
    expect(await made[1]).toContain('CALL_CANCELLED: github.open was not called');
    expect(asked[0]?.signal.aborted).toBe(true);
  });

  it('a call that is cancelled before the question is left out', async () => {
    const { approve } = setUp();
    const { asker, asked } = createAsker();
    const signal = new CancelSource();
    const made = approve(call('close'), { asker, signal });
    signal.abort();
    expect(await made).toContain('CALL_CANCELLED');
    await collected();
    expect(asked).toEqual([]);
  });
});

// A person cannot approve what the form leaves out.
it.each([
  ['one long text', { body: 'x'.repeat(20_000) }, '20,011'],
  ['text that becomes long when its hidden characters are spelled out', { body: 'a\u200b'.repeat(3_000) }, ''],
  ['many arguments', Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`a${index}`, index])), ''],
])('refuses %s without a question, unless the tool was allowed before', async (_, given, chars) => {
  const { approve, approvals, context } = setUp();
  const { asker, asked } = createAsker();
  const small = approve(call('close'), { asker });
  const large = approve(call('close', given), { asker });
  await collected();
  expect(await large).toMatch(
    /^APPROVAL_UNAVAILABLE: github\.close was not called: rule 1 asks, and a form with its arguments would have [\d,]+ characters; the limit is 10,000$/,
  );
  expect(await large).toContain(chars);
  await expect(approvals.approve(call('close', given), context({ asker }))).rejects.toMatchObject({
    hint: expect.stringContaining('Pass less in one call.'),
  });
  expect(asked[0]?.question.message).toContain('wants to call a tool');
  asked[0]?.reply(answer('Allow for this cell'));
  expect(await small).toBe('allowed');
  expect(await approve(call('close', given), { asker })).toBe('allowed');
});

describe('the line of the code', () => {
  async function shown(code: string, more: Partial<CallToApprove>): Promise<string | undefined> {
    const { approve } = setUp();
    const { asker, asked } = createAsker(code);
    void approve({ ...call('close', { token: 'hunter2hunter2' }), ...more }, { asker });
    await collected();
    const message = asked[0]?.question.message ?? '';
    expect(message).toContain('    token: "***"\n');
    return /Line [^]*?\n\n {4}.*/.exec(message)?.[0];
  }

  it('is shown, with secrets masked', async () => {
    const code = 'a = 1\r\nmcp_github.close.sync(token="hunter2hunter2")\rb';
    expect(await shown(code, { line: 2 })).toBe(
      'Line 2 of the code, as reported by the sandbox:\n\n    mcp_github.close.sync(token="***")',
    );
    expect(await shown(code, { line: 77 })).toBeUndefined();
  });

  it('is shown by the name of the tool in Python, and without its comment', async () => {
    const code = "await mcp_github.close_it(a='#', b=1)  # only a test, as agreed";
    expect(await shown(code, { tool: 'close-it', alias: 'close_it', line: 1 })).toBe(
      "Line 1 of the code, as reported by the sandbox:\n\n    await mcp_github.close_it(a='#', b=1)",
    );
  });

  it.each([
    ['a comment', '# await mcp_github.close(path="/tmp/scratch")'],
    ['a text', '"await mcp_github.close(path=1)"'],
    ['a long text', '"""\nawait mcp_github.close(path=1)\n"""'],
    ['another call', 'mcp_github.close_draft(path=1)'],
    ['a name without a call', 'close = mcp_github.close'],
  ])('is not shown if it is %s', async (_, code) => {
    expect(await shown(code, { line: code.includes('\n') ? 2 : 1 })).toBeUndefined();
  });

  it('is said to be one of several that call the tool', async () => {
    const code = 'if False:\n  await mcp_github.close(id=1)\nawait mcp_github.close(id=x)';
    expect(await shown(code, { line: 2 })).toContain(
      'Line 2 of the code, as reported by the sandbox; 2 lines call this tool:',
    );
  });
});
