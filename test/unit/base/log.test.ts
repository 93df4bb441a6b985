import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLogger, escapeControls, escapeInLines, LOG_LEVELS, renderJson } from '../../../src/core/base/log.ts';

function collect(level: (typeof LOG_LEVELS)[number]): string[] {
  const lines: string[] = [];
  const logger = createLogger(level, (line) => lines.push(line));
  logger.debug('d');
  logger.info('i');
  logger.warning('w');
  logger.error('e');
  return lines;
}

describe('createLogger', () => {
  it.each(LOG_LEVELS.map((level, index) => [level, LOG_LEVELS.length - index] as const))(
    'at %s writes %i of 4',
    (level, count) => {
      expect(collect(level)).toHaveLength(count);
    },
  );

  it('writes the time, level and message on one line', () => {
    expect(collect('ERROR')).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z ERROR e\n$/)]);
  });

  it('cannot be made to forge a second line', () => {
    const lines: string[] = [];
    createLogger('INFO', (line) => lines.push(line)).info('a\n2026 ERROR forged');
    expect(lines).toHaveLength(1);
    expect(lines[0]?.match(/\n/g)).toHaveLength(1);
    expect(lines[0]).toContain('a\\x0a2026 ERROR forged');
  });
});

describe('a warning that is said once a day', () => {
  afterEach(() => void vi.useRealTimers());

  it('is logged once by each logger, and again a day later', () => {
    vi.useFakeTimers();
    const lines: string[] = [];
    const logger = createLogger('WARNING', (line) => lines.push(line));
    ['a', 'a', 'b'].forEach(logger.daily);
    expect(lines).toEqual([expect.stringMatching(/WARNING a\n$/), expect.stringMatching(/WARNING b\n$/)]);
    vi.advanceTimersByTime(24 * 60 * 60 * 1000);
    logger.daily('a');
    expect(lines).toHaveLength(3);
  });

  it('is asked about only if it would be logged, and is logged if no one can say whether it is due', async () => {
    const asked: string[] = [];
    const lines: string[] = [];
    const isDue = async (message: string) => {
      asked.push(message);
      if (message === 'failed') {
        throw new Error('no');
      }
      return message === 'due';
    };
    createLogger('ERROR', (line) => lines.push(line), isDue).daily('due');
    expect(asked).toEqual([]);
    const logger = createLogger('INFO', (line) => lines.push(line), isDue);
    ['due', 'said', 'failed', 'due'].forEach(logger.daily);
    await vi.waitFor(() => expect(lines).toHaveLength(2));
    expect(asked).toEqual(['due', 'said', 'failed']);
    expect(lines.join('')).toMatch(/WARNING due \(said once a day\)\n.*WARNING failed \(said once a day\)\n/);
  });

  it('is logged each time beyond the number that is remembered', () => {
    const lines: string[] = [];
    const logger = createLogger('INFO', (line) => lines.push(line));
    Array.from({ length: 100 }, (_, index) => logger.daily(String(index)));
    ['0', 'more', 'more'].forEach(logger.daily);
    expect(lines).toHaveLength(102);
  });
});

describe('escapeControls', () => {
  it.each([
    ['\u001b[31mred', '\\x1b[31mred'],
    ['a\u0000b\u007f', 'a\\x00b\\x7f'],
    ['\u0085\u2028\u2029', '\\x85\\x2028\\x2029'],
    ['\u202edetrever\u202c \u2066x\u2069', '\\x202edetrever\\x202c \\x2066x\\x2069'],
    ['ä 🐍\u00a0 שלום', 'ä 🐍\u00a0 שלום'],
  ])('%j', (text, escaped) => {
    expect(escapeControls(text)).toBe(escaped);
  });
});

it('escapeInLines keeps lines and tabs', () => {
  expect(escapeInLines('a\n\tb\r\n\u001b[2J')).toBe('a\n\tb\\x0d\n\\x1b[2J');
});

it('renderJson changes no value, and leaves nothing that controls a terminal', () => {
  const value = { text: 'a\n\u001b[2J\u009b2J\u007f\u202eä' };
  const json = renderJson(value);
  expect(json).toBe('{\n  "text": "a\\n\\u001b[2J\\u009b2J\\u007f\\u202eä"\n}\n');
  expect(JSON.parse(json)).toEqual(value);
});
