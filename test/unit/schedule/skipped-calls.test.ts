/** Calls of a step that is not done again count as made: for what a person has allowed, and for what may be sent. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { markSent, SentCalls } from '../../../src/app/schedule/sent-calls.ts';
import { ONCE, Unattended } from '../../../src/app/schedule/unattended.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { succeeded, type ToolCall } from '../../../src/core/calls/contract.ts';
import type { AnsweredCall } from '../../../src/edges/terminal/command.ts';
import { QuestionQueue } from '../../../src/features/waiting-questions/index.ts';

const DELETE = { server: 'notes', tool: 'delete', arguments: { id: 7 }, isUsable: true } as const;
const identity = <Value>(value: Value): Value => value;

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'skipped-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function callTo({ arguments: given, server, tool }: Pick<AnsweredCall, 'server' | 'tool' | 'arguments'>): ToolCall {
  return {
    server: { name: server, alias: server, description: '' },
    tool: { name: tool, alias: tool, inputSchema: {} },
    arguments: given,
    context: {
      session: 'default',
      generation: 1,
      cell: 1,
      call: 1,
      loaded: new Set(),
      signal: AbortSignal.timeout(50),
    },
  };
}

async function openRun(questions: QuestionQueue, folder: string, calls: readonly AnsweredCall[]) {
  const hand = new Unattended({
    schedule: 'daily',
    id: 'run',
    dueText: 'today',
    folder,
    rights: { acceptedAt: '', source: '', tools: [] },
    mostCalls: undefined,
    questions,
    stop: () => undefined,
    onAlways: () => undefined,
  });
  return { hand, guards: await hand.open({ mask: identity, calls }) };
}

// "Allow once" was given to a second call with the same arguments.
it('an answer that a skipped call has used is not used again', async () => {
  const folder = newFolder();
  const questions = new QuestionQueue(folder);
  const first = await openRun(questions, folder, []);
  const sent = async () => succeeded('done');
  await expect(first.guards.rights(callTo(DELETE), sent)).rejects.toThrow('waits for an answer');
  const [question] = await questions.open();
  await questions.answer(question?.id ?? '', { action: 'accept', content: { answer: ONCE } }, 'terminal');

  const again = await openRun(questions, folder, [DELETE]);
  expect(await again.guards.rights(callTo(DELETE), sent)).toMatchObject({ ok: true });
  const skipping = await openRun(questions, folder, [DELETE]);
  skipping.guards.skip(DELETE);
  await expect(skipping.guards.rights(callTo(DELETE), sent)).rejects.toThrow('waits for an answer');
  expect(skipping.hand.calls).toBe(2);
});

it.each([
  ['an answer that was not kept', { isUsable: false }],
  ['a failure', { isUsable: false, error: markSent(new BridgeError('TOOL_FAILED', 'no')) }],
  ['an end that is not known', { isUsable: false, error: markSent(new BridgeError('CALL_TIMEOUT', 'late')) }],
])('%s of a skipped call does not stand for the next one', async (_, ended) => {
  const folder = newFolder();
  await (await SentCalls.open(folder, [], identity)).note(callTo(DELETE));
  const recorded = { ...DELETE, ...ended };
  expect((await SentCalls.open(folder, [recorded], identity)).errorBefore(callTo(DELETE))).toBeInstanceOf(BridgeError);
  const skipping = await SentCalls.open(folder, [recorded], identity);
  skipping.skip(recorded);
  expect(skipping.errorBefore(callTo(DELETE))).toBeUndefined();
});
