import { describe, expect, it } from 'vitest';
import { createLogger, escapeControls, escapeInJson, escapeInLines, LOG_LEVELS } from '../../../src/base/log.ts';

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

it('escapeInJson changes no value, and leaves nothing that controls a terminal', () => {
  const value = { text: 'a\n\u001b[2J\u009b2J\u007f\u202eä' };
  const json = escapeInJson(JSON.stringify(value, undefined, 2));
  expect(json).toBe('{\n  "text": "a\\n\\u001b[2J\\u009b2J\\u007f\\u202eä"\n}');
  expect(JSON.parse(json)).toEqual(value);
});
