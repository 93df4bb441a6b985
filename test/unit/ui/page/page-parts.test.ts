/** Pure parts of the page: numbers and times, addresses, events, forms, bars and differences. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { axisTop, layOutBars } from '../../../../src/record/ui/page/bar-layout.ts';
import { PageEventParser } from '../../../../src/record/ui/page/event-parser.ts';
import * as format from '../../../../src/record/ui/page/format.ts';
import { formFields, readForm } from '../../../../src/record/ui/page/question-form.ts';
import { formatRoute, parseRoute } from '../../../../src/record/ui/page/route.ts';
import { differenceOf } from '../../../../src/record/ui/page/text-difference.ts';
import { placeBar, spanOf, ticksOf } from '../../../../src/record/ui/page/waterfall.ts';

describe('numbers and times', () => {
  it.each([
    [format.formatBytes(0), '0 B'],
    [format.formatBytes(1_536), '1.5 KiB'],
    [format.formatBytes(512 * 1024 * 1024), '512 MiB'],
    [format.formatDuration(undefined), '–'],
    [format.formatDuration(0.25), '0.3 ms'],
    [format.formatDuration(999), '999 ms'],
    [format.formatDuration(1_500), '1.50 s'],
    [format.formatDuration(42_100), '42.1 s'],
    [format.formatDuration(61_000), '1 min 1 s'],
    [format.formatAge(0), '0 s'],
    [format.formatAge(90_061_000), '1 d 1 h'],
    [format.formatAge(3_600_000), '1 h'],
    [format.formatNumberOf(1, 'cell'), '1 cell'],
    [format.formatNumberOf(1_200, 'cell'), '1,200 cells'],
    [format.formatShare(1, 1_000), '<1 %'],
    [format.formatShare(0, 0), '0 %'],
    [format.formatShortCount(12_345), '12.3k'],
    [format.formatShortCount(999), '999'],
    [format.formatWhen('not a time', 0), 'not a time'],
  ])('%s', (actual, expected) => {
    expect(actual).toBe(expected);
  });

  it('leave out the day if it is today', () => {
    const now = new Date(2026, 10, 27, 12).getTime();
    expect(format.formatWhen(new Date(2026, 10, 27, 9, 5, 7).toISOString(), now)).toBe('09:05:07');
    expect(format.formatWhen(new Date(2026, 10, 26, 9, 5, 7).toISOString(), now)).toBe('2026-11-26 09:05:07');
  });
});

describe('addresses', () => {
  it.each([
    ['', 'now'],
    ['#/nowhere', 'now'],
    ['#/cells', 'now'],
    ['#/stored', 'stored'],
    ['#/cells/%E0%A4%A', 'cells'],
  ])('%j is %s', (hash, view) => {
    expect(parseRoute(hash).view).toBe(view);
  });

  it('come back as they were', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, unit: 'grapheme' }),
        fc.string({ minLength: 1, unit: 'grapheme' }),
        (id, text) => {
          expect(parseRoute(formatRoute('cells', { text }, id))).toEqual({ view: 'cells', id, query: { text } });
        },
      ),
    );
  });
});

describe('events', () => {
  it('may be cut anywhere', () => {
    const stream = ': ping\n\nevent: x\nid: 1\ndata: {"a":1}\n\ndata:two\r\ndata: lines\r\n\r\n';
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 8 }), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), stream.length];
        const parser = new PageEventParser();
        const events = places.flatMap((place, index) => parser.push(stream.slice(place, places[index + 1] ?? place)));
        expect(events).toEqual(['{"a":1}', 'two\nlines']);
      }),
    );
  });

  it('have a limit', () => {
    const parser = new PageEventParser();
    expect(() => {
      for (let index = 0; index < 6; index += 1) {
        parser.push('x'.repeat(1024 * 1024));
      }
    }).toThrow('4 MiB');
  });
});

describe('a form', () => {
  const schema = {
    type: 'object',
    properties: {
      answer: { type: 'string', title: 'Your answer', enum: ['Allow once', 'Do not allow'] },
      level: { type: 'string', oneOf: [{ const: 'a', title: 'Alpha' }, { const: 'b' }] },
      many: { type: 'array', items: { type: 'string', enum: ['x', 'y'] }, default: ['y'] },
      amount: { type: 'integer', default: 3 },
      sure: { type: 'boolean' },
      __proto__x: 'broken',
    },
    required: ['answer'],
  };

  it('has a field for each property', () => {
    expect(formFields(schema).map(({ kind, name }) => `${name} ${kind}`)).toEqual([
      'answer choice',
      'level choice',
      'many choices',
      'amount number',
      'sure flag',
      '__proto__x text',
    ]);
    expect(formFields(schema)[1]?.options).toEqual([
      { value: 'a', label: 'Alpha' },
      { value: 'b', label: 'b' },
    ]);
  });

  it('is read with the types of its fields, without empty ones', () => {
    expect(readForm(formFields(schema), { answer: 'Allow once', sure: true })).toEqual({
      content: { answer: 'Allow once', many: ['y'], amount: 3, sure: true },
    });
  });

  it('says what is missing or wrong', () => {
    expect(readForm(formFields(schema), {})).toEqual({ problem: 'Fill in “Your answer”.' });
    expect(readForm(formFields(schema), { answer: 'x', amount: 'many' })).toEqual({
      problem: '“amount” must be a number.',
    });
  });

  it.each([undefined, {}, { properties: [] }, { properties: { a: null } }])('of %j does not fail', (broken) => {
    expect(readForm(formFields(broken as never), {})).toHaveProperty('content');
  });
});

describe('a waterfall', () => {
  it('places bars in per cent, never outside', () => {
    const span = { from: 1_000, to: 2_000 };
    expect(placeBar({ startedAt: 1_250, endedAt: 1_500 }, span)).toEqual({ left: 25, width: 25 });
    expect(placeBar({ startedAt: 1_500, endedAt: undefined }, span)).toEqual({ left: 50, width: 50 });
    fc.assert(
      fc.property(
        fc.integer(),
        fc.option(fc.integer(), { nil: undefined }),
        fc.integer({ min: 1, max: 1e9 }),
        (startedAt, endedAt, length) => {
          const { left, width } = placeBar({ startedAt, endedAt }, { from: 0, to: length });
          expect(left).toBeGreaterThanOrEqual(0);
          expect(width).toBeGreaterThan(0);
          expect(left + width).toBeLessThanOrEqual(100.01);
        },
      ),
    );
  });

  it('covers calls that outlast the cell', () => {
    expect(spanOf([{ startedAt: 5, endedAt: 90 }], 0, 50)).toEqual({ from: 0, to: 90 });
    expect(spanOf([], 7, 7)).toEqual({ from: 7, to: 8 });
  });

  it.each([
    [1_000, [0, 500, 1_000]],
    [37, [0, 10, 20, 30]],
    [0.5, [0, 0.2, 0.4]],
  ])('has round ticks for %d ms', (length, ticks) => {
    expect(ticksOf(length, 4)).toEqual(ticks);
  });
});

describe('bars of a chart', () => {
  const size = { width: 500, height: 200, left: 50, bottom: 20, top: 10 };

  it('stay inside, and labels have room', () => {
    const values = Array.from({ length: 90 }, (_, index) => index * 1_000);
    const { bars, labels, ticks } = layOutBars(
      90,
      [
        { name: 'a', values },
        { name: 'b', values },
      ],
      size,
    );
    expect(bars).toHaveLength(180);
    expect(
      bars.every(({ height, width, x, y }) => x >= 50 && x + width <= 500 && y >= 10 && y + height <= 180.01),
    ).toBe(true);
    expect(labels.length).toBeLessThan(10);
    expect(ticks.map(({ value }) => value)).toEqual([0, 25_000, 50_000, 75_000, 100_000]);
  });

  it('has an axis for any sum', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e15, noNaN: true }), (most) => {
        expect(axisTop(most)).toBeGreaterThanOrEqual(most);
        expect(axisTop(most)).toBeLessThanOrEqual(Math.max(4, most * 2.5));
      }),
    );
  });
});

describe('a difference', () => {
  it('is by words', () => {
    expect(differenceOf('Reads a file.', 'Reads a secret file.')).toEqual([
      { kind: 'same', text: 'Reads a ' },
      { kind: 'added', text: 'secret ' },
      { kind: 'same', text: 'file.' },
    ]);
  });

  it('has all of both texts, however long', () => {
    const text = fc.oneof(fc.string(), fc.string({ minLength: 3_000, maxLength: 5_000 }));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const parts = differenceOf(before, after);
        const without = (kind: string) => parts.flatMap((part) => (part.kind === kind ? [] : part.text)).join('');
        expect([without('added'), without('removed')]).toEqual([before, after]);
      }),
      { numRuns: 40 },
    );
  });
});
