import { describe, expect, test } from 'vitest';
import { renderTests } from '../../../src/app/manage-servers/test.ts';
import { StartTimes } from '../../../src/edges/configured/server-test.ts';

const done = { isDone: true, ms: expect.any(Number) };
const open = { isDone: false, ms: expect.any(Number) };
const UNANSWERED = { tools: null, protocolVersion: null, serverVersion: null, notices: [] };

describe('the steps of a start', () => {
  test('end with the first one that was not done', () => {
    const times = new StartTimes();
    times.note('x', 'resolved');
    times.note('x', 'started');
    times.note('other', 'ready');
    expect(times.stepsOf('x', false, 0, false)).toEqual([
      { step: 'resolve', ...done },
      { step: 'start', ...done },
      { step: 'initialize', ...open },
    ]);
    times.note('x', 'ready');
    expect(times.stepsOf('x', false, 0, true).at(-1)).toEqual({ step: 'list tools', ...done });
  });

  test('have no process for a remote server, and none follow one that failed to connect', () => {
    const times = new StartTimes();
    expect(times.stepsOf('x', true, 0, false)).toEqual([{ step: 'resolve', ...open }]);
    times.note('x', 'resolved');
    times.note('x', 'ready');
    const steps = times.stepsOf('x', true, 0, true).map(({ step, isDone }) => [step, isDone]);
    expect(steps).toEqual([
      ['resolve', true],
      ['connect', true],
      ['list tools', true],
    ]);
  });
});

describe('the text for a person', () => {
  test('has one line for each server that works, and reason and next step for each other', () => {
    const text = renderTests(
      [
        {
          name: 'files',
          file: '/f',
          steps: [
            { step: 'resolve', isDone: true, ms: 1 },
            { step: 'list tools', isDone: true, ms: 1_200 },
          ],
          ms: 1_201,
          tools: 14,
          protocolVersion: '2025-11-25',
          serverVersion: '1.0\u001b',
          notices: ['one was left out'],
          error: null,
        },
        {
          name: 'x',
          file: '/f',
          steps: [{ step: 'start', isDone: false, ms: 3 }],
          ms: 3,
          ...UNANSWERED,
          error: { code: 'SERVER_START_FAILED', message: 'it ended\n  \u001b[2Jwhy', hint: 'Fix it.' },
        },
      ],
      'None.',
    );
    expect(text.split('\n')).toEqual([
      'files  ok      14 tools, MCP 2025-11-25, version 1.0\\x1b: resolve 1 ms, list tools 1,200 ms',
      '  note: one was left out',
      'x      failed  start failed after 3 ms',
      '  it ended',
      '    \\x1b[2Jwhy',
      '  → Fix it.',
      '',
    ]);
    expect(renderTests([], 'None.')).toBe('None.\n');
  });
});
