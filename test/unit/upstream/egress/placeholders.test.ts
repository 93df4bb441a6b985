import { describe, expect, it } from 'vitest';
import { createPlaceholders } from '../../../../src/edges/upstream/egress/placeholders.ts';

const PLACEHOLDERS = createPlaceholders([
  { name: 'A', placeholder: 'bridge-key-1', value: 'sk_live_a+b/c' },
  { name: 'B', placeholder: 'bridge-key-12', value: 'bridge-key-1' },
  { name: 'C', placeholder: 'bridge-key-ü', value: 'wörd' },
]);
const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`;

describe('placeholders become keys', () => {
  it.each([
    ['Bearer bridge-key-1', 'Bearer sk_live_a+b/c'],
    ['bridge-key-1,bridge-key-1', 'sk_live_a+b/c,sk_live_a+b/c'],
    // The longer one, and its value is not searched again.
    ['bridge-key-12', 'bridge-key-1'],
    [basic('bridge-key-1:'), basic('sk_live_a+b/c:')],
    [basic('user:bridge-key-1'), basic('user:sk_live_a+b/c')],
    ['basic  dXNlcjp4', 'basic  dXNlcjp4'],
    ['Bearer bridge-key-of-another-entry', 'Bearer bridge-key-of-another-entry'],
    // Not valid base64, so not basic credentials.
    ['Basic !', 'Basic !'],
  ])('in a header: %s', (value, expected) => {
    expect(PLACEHOLDERS.inHeader(value)).toBe(expected);
  });

  it('in basic credentials whose bytes are no text, which stay as they are', () => {
    const pair = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(':bridge-key-1')]);
    const replaced = PLACEHOLDERS.inHeader(`Basic ${pair.toString('base64')}`);
    expect(Buffer.from(replaced.slice(6), 'base64')).toEqual(
      Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(':sk_live_a+b/c')]),
    );
  });

  it.each([
    ['?key=bridge-key-1&x=1', '?key=sk_live_a%2Bb%2Fc&x=1'],
    ['?key=bridge-key-%C3%BC', '?key=w%C3%B6rd'],
    ['?key=bridge-key-of-another-entry', '?key=bridge-key-of-another-entry'],
    ['', ''],
  ])('in a query: %s', (search, expected) => {
    expect(PLACEHOLDERS.inQuery(search)).toBe(expected);
  });

  it('and the other way round in the address of a redirect', () => {
    expect(PLACEHOLDERS.outOfAddress('/next?key=sk_live_a%2Bb%2Fc')).toBe('/next?key=bridge-key-1');
  });
});

it('an entry without keys changes nothing', () => {
  expect(createPlaceholders([]).inHeader('Bearer bridge-key-1')).toBe('Bearer bridge-key-1');
});
