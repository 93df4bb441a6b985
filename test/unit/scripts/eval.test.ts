/** What the evaluation counts, and what it takes as an answer. */
import { describe, expect, it } from 'vitest';
import { countTokens, tokensOf } from '../../../scripts/comparison/tokens.ts';
import { parseOptions } from '../../../scripts/eval/options.ts';
import { EVAL_TASKS } from '../../../scripts/eval/tasks/index.ts';
import { answerOf, compareTrees, expectList } from '../../../scripts/eval/tasks/task.ts';
import { createTranscript } from '../../../scripts/eval/transcript.ts';
import { splitWords } from '../../../src/base/shell-words.ts';
import { readFences } from '../../support/documented-samples.ts';

describe('the transcript', () => {
  const call = { name: 'read', arguments: { path: 'a' } };
  const answer = (text: string, isError = false) => ({ text, isError });

  it('counts calls that overlap as one turn', () => {
    const transcript = createTranscript('task');
    transcript.start(1_000);
    const [first, second] = [
      transcript.begin(call.name, call.arguments, 1_100),
      transcript.begin(call.name, call.arguments, 1_150),
    ];
    first(answer('one'), 1_200);
    second(answer('two'), 1_300);
    transcript.begin(call.name, call.arguments, 1_400)(answer('three'), 1_450);
    expect(transcript.finish('the answer', 2_000)).toMatchObject({
      turns: 3,
      written: 3 * tokensOf(call) + countTokens('the answer'),
      read: 3,
      ms: 1_000,
      callMs: 250,
    });
  });

  it('keeps calls that failed, with their errors, in the order in which they began', () => {
    const transcript = createTranscript('task');
    const [first, second, third] = [1, 2, 3].map((path) => transcript.begin('read', { path }, 0));
    third?.(answer('no file 3', true), 1);
    second?.(answer('text'), 2);
    first?.(answer('no file 1', true), 3);
    expect(transcript.calls()).toEqual({
      count: 3,
      failed: [
        { number: 1, name: 'read', arguments: { path: 1 }, error: 'no file 1' },
        { number: 3, name: 'read', arguments: { path: 3 }, error: 'no file 3' },
      ],
    });
  });

  it('sends definitions, task and all earlier turns again in each turn', () => {
    const transcript = createTranscript('task');
    transcript.define(100);
    transcript.begin(call.name, call.arguments, 0)(answer('one'), 1);
    const written = tokensOf(call);
    expect(transcript.finish('done', 2).context).toBe(101 + (101 + written + 1));
  });

  it('counts definitions and task once if no tool is called', () => {
    const transcript = createTranscript('task');
    transcript.define(100);
    expect(transcript.finish('done', 0)).toMatchObject({ turns: 1, written: 1, read: 0, context: 101 });
  });
});

describe('an answer', () => {
  it.each([
    ['ANSWER: 42', '42'],
    ['It is ANSWER: 41.\nANSWER: **42**', '42'],
    ['42\n', '42'],
    ['ANSWER: `a, b`.', 'a, b'],
  ])('%j states %j', (text, answer) => {
    expect(answerOf(text)).toBe(answer);
  });

  it('lists items in any order', () => {
    expect(expectList('b, a', ['a', 'b'])).toEqual([]);
    expect(expectList('b', ['a', 'b'])).toHaveLength(1);
  });
});

it('names files that differ, are missing, or should not be there', () => {
  expect(compareTrees({ a: '1', b: '2', d: '4' }, { a: '1', b: '3', c: '3' })).toEqual([
    'b differs',
    'c is missing',
    'd should not be there',
  ]);
});

describe('the command line', () => {
  const lines = readFences('docs/internals/eval.md', '').flatMap((text) => text.split('\n'));

  it.each(lines)('of the document is valid: %s', (line) => {
    const [command = '', , , separator, ...args] = splitWords(line.replace(/ #.*/, '')) ?? [];
    expect([command, separator]).toEqual(['npm', '--']);
    const { tasks } = parseOptions(args);
    expect(tasks.filter((id) => !EVAL_TASKS.some((task) => task.id === id))).toEqual([]);
  });

  it.each([
    [['--mode', 'fast'], 'The mode "fast" is unknown'],
    [['--timeout', 'soon'], 'The timeout "soon" is not a number'],
    [['--quickly'], "Unknown option '--quickly'"],
  ])('refuses %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message);
  });
});
