/** What later runs may do, learned from one. */
import { expect, it } from 'vitest';
import {
  describeRights,
  learnRights,
  type MadeCall,
  RightsSchema,
  whyBeyond,
  widenRights,
} from '../../../src/app/schedule/rights.ts';
import { parseExact } from '../../../src/core/protocol/exact-json.ts';

const post = (given: Record<string, unknown>): MadeCall => ({ server: 'chat', tool: 'post', arguments: given });
const first = post({
  channel: 'C42',
  text: 'Report of 2026-11-29: 3 findings',
  body: 'First line\nsecond line',
  priority: 2,
  isUrgent: false,
  to: [{ mail: 'ann@example.com', kinds: ['a'] }],
  none: [],
});

function why(change: Record<string, unknown>, isReading = false): string | undefined {
  const tools = learnRights([first], () => isReading);
  const { tools: kept } = RightsSchema.parse(JSON.parse(JSON.stringify({ acceptedAt: 'now', source: '', tools })));
  return whyBeyond({ tools: kept }, post({ ...first.arguments, ...change }), 1);
}

it.each([
  [{}, undefined],
  [{ text: 'Report of 2026-12-01: 17 findings' }, undefined],
  [
    { text: 'Report of today: 3 findings' },
    'its argument \'text\' may be "Report of #-#-#: # findings", where # is any number',
  ],
  [{ channel: 'C43' }, 'its argument \'channel\' may be "C42"'],
  [{ channel: ['C42'] }, "it was never called with a value at 'channel[]'"],
  [{ body: 'Another\nbody, four times as long at most' }, undefined],
  [{ body: 'x'.repeat(89) }, "its argument 'body' may be any text of at most 88 characters"],
  [{ priority: 3 }, "its argument 'priority' may be 2"],
  [{ priority: '2' }, "its argument 'priority' may be 2"],
  [{ isUrgent: true }, "its argument 'isUrgent' may be false"],
  [{ to: [] }, "it was never called with a value at 'to'"],
  [{ to: [...(first.arguments['to'] as object[]), { mail: 'ann@example.com' }] }, undefined],
  [{ to: [{ mail: 'eve@example.com' }] }, 'its argument \'to[].mail\' may be "ann@example.com"'],
  [{ to: [{ mail: 'ann@example.com', kinds: ['a', 'b'] }] }, 'its argument \'to[].kinds[]\' may be "a"'],
  [{ none: ['x'] }, "it was never called with a value at 'none[]'"],
  [{ other: null }, "it was never called with a value at 'other'"],
  [{ 'to[].mail': 'ann@example.com' }, 'it was never called with a value at \'"to[].mail"\''],
])('a call that differs in %j: %s', (change, expected) => {
  expect(why(change)).toBe(expected);
});

it.each([
  ['DE89 3704 0044 0532', 'DE12 3704 0044 0532', false],
  ['+49 170 1234567', '+49 170 1234568', false],
  ['issue/17', 'issue/18', false],
  ['12345678', '12345679', false],
  ['20991332', '20991333', false],
  ['/reports/2026-11-29.md', '/reports/2026-12-01.md', true],
  ['/reports/2026-11-29.md', '/secrets/2026-12-01.md', false],
  ['backup-20261129-0700.tar', 'backup-20261130-0700.tar', true],
  ['29.11.2026', '01.12.2026', true],
  ['2026-11-29T07:00:00', '2026-11-30T07:00:12', true],
  ['week 2026-W48', 'week 2026-W49', true],
  ['3 new issues today', '12 new issues today', true],
  ['Order 17', 'Order 18', false],
])('of a run with %j, %j is covered: %s', (seen, later, isCovered) => {
  const tools = learnRights([post({ text: seen })], () => false);
  expect(whyBeyond({ tools }, post({ text: later }), 1) === undefined).toBe(isCovered);
});

it('numbers may be anything where they are only read', () => {
  expect(why({ priority: 99, isUrgent: true }, true)).toBeUndefined();
  expect(why({ channel: 'D43' }, true)).toContain("'channel'");
});

it('other tools and servers, and more calls than twice as many and five, are beyond', () => {
  const tools = learnRights([first, first], () => false);
  expect(whyBeyond({ tools }, { ...first, tool: 'delete' }, 1)).toContain('did not call it');
  expect(whyBeyond({ tools }, { ...first, server: 'chat2' }, 1)).toContain('did not call it');
  expect(whyBeyond({ tools }, first, 9)).toBeUndefined();
  expect(whyBeyond({ tools }, first, 10)).toBe('a run may call it at most 9 times');
});

it('several values are all allowed, and of many different ones only the length counts', () => {
  const some = learnRights(
    ['red', 'green'].map((color) => post({ color })),
    () => false,
  );
  expect(whyBeyond({ tools: some }, post({ color: 'green' }), 1)).toBeUndefined();
  expect(whyBeyond({ tools: some }, post({ color: 'blue' }), 1)).toContain('"red" or "green"');
  const names = Array.from({ length: 101 }, (_, index) => post({ color: `c${String.fromCodePoint(0x4e00 + index)}` }));
  const many = learnRights(names, () => false);
  expect(whyBeyond({ tools: many }, post({ color: 'blue' }), 1)).toBeUndefined();
  expect(whyBeyond({ tools: many }, post({ color: 'blues and' }), 1)).toContain('at most 8 characters');
});

it('what was always given may not be left out, and lists stay about as long', () => {
  const drop = { server: 'db', tool: 'drop', arguments: { table: 'logs', where: 'old', rows: ['a'] } };
  const tools = learnRights([drop], () => false);
  const { where: _, ...less } = drop.arguments;
  expect(whyBeyond({ tools }, { ...drop, arguments: less }, 1)).toContain("always called with a value at 'where'");
  const rows = Array.from({ length: 12 }, () => 'a');
  expect(whyBeyond({ tools }, { ...drop, arguments: { ...drop.arguments, rows } }, 1)).toContain('at most 11 values');
  const both = learnRights([drop, { ...drop, arguments: less }], () => false);
  expect(whyBeyond({ tools: both }, { ...drop, arguments: less }, 1)).toBeUndefined();
});

it('numbers in prose carry no data, and large ones are compared as they are', () => {
  const tools = learnRights([post({ text: 'We have 3 open issues' })], () => false);
  expect(whyBeyond({ tools }, post({ text: `We have ${'9'.repeat(300)} open issues` }), 1)).toBeDefined();
  const id = () => parseExact('{"channel":1234567890123456789}') as Record<string, unknown>;
  const known = RightsSchema.parse(
    JSON.parse(JSON.stringify({ acceptedAt: '', source: '', tools: learnRights([post(id())], () => false) })),
  );
  expect(whyBeyond(known, post(id()), 1)).toBeUndefined();
});

it('a # of the text itself is told from a number', () => {
  const tools = learnRights([post({ channel: '#general', text: 'We have 3 #new ones' })], () => false);
  expect(describeRights({ tools })).toContain('channel: "\\\\#general"\n');
});

it('numbers that are written stay within those seen', () => {
  const tools = learnRights(
    [1, 5].map((n) => post({ n })),
    () => false,
  );
  expect([0, 1, 3, 5, 6].map((n) => whyBeyond({ tools }, post({ n }), 1) === undefined)).toEqual([
    false,
    true,
    true,
    true,
    false,
  ]);
});

it('of an argument with many different keys only the size counts', () => {
  const rows = Object.fromEntries(
    Array.from({ length: 150 }, (_, index) => [`key${'abcdefghij'[index % 10]}${index}`, 'x']),
  );
  const tools = learnRights([post({ rows })], () => false);
  expect(whyBeyond({ tools }, post({ rows: { other: 1 } }), 1)).toBeUndefined();
  expect(whyBeyond({ tools }, post({ rows: 'x'.repeat(10_000) }), 1)).toContain("'rows' may be any value of at most");
});

it('a person can widen them to one more call, and to nothing else', () => {
  const tools = learnRights([first], () => false);
  const facts = { count: 1, isReading: false };
  const other = post({ ...first.arguments, channel: 'D1', to: [], text: 'Other words' });
  const wider = widenRights(tools, other, facts);
  expect(whyBeyond({ tools: wider }, other, 1)).toBeUndefined();
  expect(whyBeyond({ tools: wider }, first, 1)).toBeUndefined();
  for (const change of [
    { priority: 3 },
    { channel: 'E1' },
    { text: 'Third words' },
    { to: [{ mail: 'eve@example.com' }] },
  ]) {
    expect(whyBeyond({ tools: wider }, post({ ...first.arguments, ...change }), 1)).toBeDefined();
  }
  expect(whyBeyond({ tools: wider }, first, 8)).toContain('at most 7 times');
  expect(whyBeyond({ tools: widenRights(tools, first, { ...facts, count: 8 }) }, first, 16)).toBeUndefined();
  const remove = { ...first, tool: 'remove' };
  expect(whyBeyond({ tools: widenRights(tools, remove, facts) }, remove, 1)).toBeUndefined();
  const byNumber = widenRights(tools, post({ ...first.arguments, priority: 5, body: 'x'.repeat(500) }), facts);
  expect(
    whyBeyond({ tools: byNumber }, post({ ...first.arguments, priority: 4, body: 'y'.repeat(2_000) }), 1),
  ).toBeUndefined();
  expect(whyBeyond({ tools: byNumber }, post({ ...first.arguments, priority: 6 }), 1)).toContain('from 2 to 5');
});

it('are shown as one block', () => {
  expect(describeRights({ tools: [...learnRights([post({ channel: 'C1', text: 'a\nb' })], () => false)] })).toBe(
    `  chat.post: at most 7 calls in a run
      channel: "C1"
      text: any text of at most 12 characters
`,
  );
  expect(describeRights({ tools: [] })).toContain('no calls to servers');
});
