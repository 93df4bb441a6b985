/** What the evaluation counts, and what it takes as an answer. */
import { describe, expect, it } from 'vitest';
import { countTokens, tokensOf } from '../../../scripts/comparison/tokens.ts';
import { correlation, parseCsv, partialSlope, quantile, slope } from '../../../scripts/eval/data/statistics.ts';
import { compareAnswer, DATA_TASKS } from '../../../scripts/eval/data/suite.ts';
import { parseOptions } from '../../../scripts/eval/options.ts';
import { tableSolution } from '../../../scripts/eval/solutions/tables.ts';
import { EVAL_TASKS } from '../../../scripts/eval/tasks/index.ts';
import { answerOf, compareTrees, expectList } from '../../../scripts/eval/tasks/task.ts';
import { createTranscript } from '../../../scripts/eval/transcript.ts';
import { splitWords } from '../../../src/core/base/shell-words.ts';
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

describe('a closed answer', () => {
  it.each([
    [12.345, 1, '12.3'],
    [12.345, 2, '12.35'],
    [12.345, 2, '12.34 %'],
    [-1234.5, 1, '\u22121,234.5'],
    ['Korea, Rep.', undefined, 'korea rep'],
    [['Korea, Rep.', 'Peru'], undefined, 'Korea, Rep., Peru'],
    [['18', '1964-01-25'], undefined, '18, 1964-01-25.'],
  ])('%j with digits %j is %j', (truth, digits, answer) => {
    expect(compareAnswer(truth, digits, answer)).toEqual([]);
  });

  it.each([
    [12.345, 1, '12.5'],
    [12.345, 1, ''],
    [12.345, 1, 'between 12.3 and 12.4'],
    [3, 0, '4'],
    ['Peru', undefined, 'Chile'],
    [['Peru', 'Chile'], undefined, 'Chile, Peru'],
    [['18', '1964-01-25'], undefined, '18, 1964-01-26'],
  ])('%j with digits %j is not %j', (truth, digits, answer) => {
    expect(compareAnswer(truth, digits, answer)).toHaveLength(1);
  });
});

describe('the figures of the checker', () => {
  it('read quoted fields', () => {
    expect(parseCsv('a,b\r\n"1, 2","x\ny"\r\n,3\n')).toEqual([
      { a: '1, 2', b: 'x\ny' },
      { a: '', b: '3' },
    ]);
  });

  it('are those of the textbook', () => {
    expect(quantile([4, 1, 2, 3], 0.5)).toBe(2.5);
    expect(correlation([1, 2, 3], [2, 4, 6])).toBeCloseTo(1);
    expect(slope([1, 2, 3], [1, 3, 5])).toBeCloseTo(2);
    // y = 2x - 3z + 1
    expect(partialSlope([1, 2, 3, 5], [2, 1, 4, 3], [-3, 2, -5, 2])).toBeCloseTo(2);
  });
});

it('has at least forty questions over tables, each with its own id and a solution', () => {
  const ids = DATA_TASKS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThanOrEqual(40);
  expect(ids.filter((id) => tableSolution(id) === undefined)).toEqual([]);
  expect(ids.filter((id) => EVAL_TASKS.some((task) => task.id === id))).toEqual([]);
});

describe('the command line', () => {
  const lines = readFences('docs/internals/eval.md', '').flatMap((text) => text.split('\n'));

  it.each(lines)('of the document is valid: %s', (line) => {
    const [command = '', , , separator, ...args] = splitWords(line.replace(/ #.*/, '')) ?? [];
    expect([command, separator]).toEqual(['npm', '--']);
    const { tasks } = parseOptions(args);
    expect(tasks.filter((id) => ![...EVAL_TASKS, ...DATA_TASKS].some((task) => task.id === id))).toEqual([]);
  });

  it.each([
    [['--mode', 'fast'], 'The mode "fast" is unknown'],
    [['--suite', 'all'], 'The suite "all" is unknown; use tools or data.'],
    [['--suite=data', '--mode=both'], 'The suite data cannot be done in mode both; use --mode code.'],
    [['--timeout', 'soon'], 'The timeout "soon" is not a number'],
    [['--quickly'], "Unknown option '--quickly'"],
  ])('refuses %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message);
  });
});
