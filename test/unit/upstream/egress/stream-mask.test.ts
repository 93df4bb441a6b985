import { array, assert as assertProperty, constantFrom, nat, property, uint8Array } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createStreamMask, type StreamMask } from '../../../../src/edges/upstream/egress/stream-mask.ts';

const SECRETS = ['sk_live_51HxYzAbCd', 'a+b/c="d\\e& f', 'pässwörd-€-😀x', '>>>???>>>???', '100%of-it%41'];

/** The forms that code could read a secret from. */
function formsOf(secret: string): Record<string, Buffer> {
  const base64 = (before: string): string => Buffer.from(`${before}${secret}after`).toString('base64');
  const json = JSON.stringify(secret).slice(1, -1);
  const texts = {
    plain: secret,
    'JSON of JavaScript': json,
    'JSON of Python': json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    'JSON of PHP': json.replaceAll('/', '\\/'),
    'JSON of .NET': json.replace(/[+&<>]/g, (unit) => `\\u00${unit.charCodeAt(0).toString(16).toUpperCase()}`),
    percent: encodeURIComponent(secret),
    'percent in lower case':
      encodeURIComponent(secret).toLowerCase() === encodeURIComponent(secret)
        ? secret
        : encodeURIComponent(secret).replace(/%../g, (escape) => escape.toLowerCase()),
    form: new URLSearchParams({ k: secret }).toString().slice(2),
    'hexadecimal digits': Buffer.from(secret).toString('hex'),
    'hexadecimal digits in upper case': Buffer.from(secret).toString('hex').toUpperCase(),
    'percent, all of it': Buffer.from(secret).toString('hex').replaceAll(/../g, '%$&'),
    'JSON, all of it': secret.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    'base64 at 0': base64(''),
    'base64 at 1': base64('a'),
    'base64 at 2': base64('ab'),
    'base64url at 0': Buffer.from(base64(''), 'base64').toString('base64url'),
    'base64url at 2': Buffer.from(base64('ab'), 'base64').toString('base64url'),
  };
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)]));
}

const MASKS = new Map<string, StreamMask>();

function through(secrets: readonly string[], chunks: readonly Uint8Array[]): Buffer {
  const key = secrets.join();
  const mask = MASKS.get(key) ?? createStreamMask(secrets);
  MASKS.set(key, mask);
  const push = mask.begin();
  const passed = chunks.map((chunk) => Buffer.from(push(Buffer.from(chunk), false)));
  return Buffer.concat([...passed, push(Buffer.alloc(0), true)]);
}

function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}

const CASES = SECRETS.flatMap((secret) =>
  Object.entries(formsOf(secret)).map(([form, bytes]) => [form, secret, bytes] as const),
);

describe('a secret that passes is masked', () => {
  it.each(CASES)('as %s: %s', (_form, secret, bytes) => {
    const whole = through(SECRETS, [Buffer.from('before '), bytes, Buffer.from(' after')]);
    expect(whole).toHaveLength(bytes.length + 13);
    expect(whole.toString()).toMatch(/^before .{0,4}\*{8,}\S{0,10} after$/);
    expect(whole.toString()).not.toContain(bytes.toString().slice(3, 15));
    expect(Buffer.from(whole.toString().slice(7, -6), 'base64').toString()).not.toContain(secret.slice(2, -2));
  });

  it.each(CASES)('wherever it is cut, as %s: %s', (_form, _secret, bytes) => {
    const text = Buffer.concat([Buffer.from([0, 255, 0x73]), bytes, Buffer.from([0, 0x73])]);
    const whole = through(SECRETS, [text]);
    for (let first = 0; first <= text.length; first += 1) {
      expect(through(SECRETS, cutAt(text, [first]))).toEqual(whole);
    }
    expect(
      through(
        SECRETS,
        Array.from(text, (byte) => Uint8Array.of(byte)),
      ),
    ).toEqual(whole);
  });

  it('in any bytes, cut at any places', () => {
    const part = constantFrom(
      ...CASES.map(([, , bytes]) => bytes),
      ...SECRETS.map((secret) => Buffer.from(secret.slice(0, 5))),
    );
    const parts = array(
      part
        .map((one) => new Uint8Array(one))
        .chain((one) => uint8Array({ maxLength: 20 }).map((other) => Buffer.concat([one, other]))),
      {
        maxLength: 6,
      },
    );
    assertProperty(
      property(parts, array(nat(2_000), { maxLength: 20 }), (all, places) => {
        const bytes = Buffer.concat(all);
        const once = through(SECRETS, [bytes]);
        expect(once).toHaveLength(bytes.length);
        expect(through(SECRETS, cutAt(bytes, places))).toEqual(once);
        for (const secret of SECRETS) {
          expect(once.includes(secret)).toBe(false);
        }
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    [
      'inside a longer one',
      ['secret-1', 'secret-1-long'],
      'x secret-1-long secret-1 secret-1-l',
      'x ************* ******** ********-l',
    ],
    ['that overlaps another', ['abcdefgh', 'efghijkl'], 'abcdefghijkl', '************'],
    ['that overlaps itself', ['abcabcab'], 'abcabcabcabcab', '**************'],
    ['twice in a row', ['12345678'], '1234567812345678', '****************'],
  ])('%s', (_how, secrets, text, masked) => {
    for (let first = 0; first <= text.length; first += 1) {
      for (let second = first; second <= text.length; second += 1) {
        expect(through(secrets, cutAt(Buffer.from(text), [first, second])).toString()).toBe(masked);
      }
    }
  });

  it('of many kilobytes, such as a key in PEM, and holds little back', () => {
    const secret = `-----BEGIN KEY-----\n${'aB3/+xYz\n'.repeat(900)}-----END KEY-----`;
    const push = createStreamMask([secret]).begin();
    const text = Buffer.from(`{"key":${JSON.stringify(secret)}}`);
    const passed: Buffer[] = [];
    let held = 0;
    for (let at = 0; at < text.length; at += 500) {
      passed.push(Buffer.from(push(Buffer.from(text.subarray(at, at + 500)), false)));
      held = Math.max(held, Math.min(text.length, at + 500) - passed.reduce((sum, { length }) => sum + length, 0));
    }
    const whole = Buffer.concat([...passed, push(Buffer.alloc(0), true)]).toString();
    expect(whole).toMatch(/^\{"key":"\*+"\}$/);
    expect(held).toBeLessThan(1_500);
  });
});

describe('what is no secret passes', () => {
  it('at once, if it cannot begin one', () => {
    const push = createStreamMask(['sk_live_1234']).begin();
    expect(push(Buffer.from('data: {"a":1}\n\n'), false).toString()).toBe('data: {"a":1}\n\n');
    expect(push(Buffer.from('data: sk_li'), false).toString()).toBe('data: ');
    expect(push(Buffer.from('ve_\n\n'), false).toString()).toBe('sk_live_\n\n');
  });

  it('as the same bytes, cut at any places', () => {
    assertProperty(
      property(array(uint8Array({ maxLength: 300 }), { maxLength: 8 }), (chunks) => {
        expect(through(SECRETS, chunks)).toEqual(Buffer.concat(chunks));
      }),
    );
  });

  it('without a copy if there are no secrets', () => {
    const chunk = Buffer.from('abc');
    const mask = createStreamMask([]);
    expect(mask.isEmpty).toBe(true);
    expect(mask.begin()(chunk, false)).toBe(chunk);
  });
});

it('headers are masked byte by byte', () => {
  const { maskText } = createStreamMask(['pässwörd-1']);
  expect(maskText(`Bearer ${Buffer.from('pässwörd-1').toString('latin1')}\u00ff`)).toBe(
    `Bearer ${'*'.repeat(12)}\u00ff`,
  );
});
