import { expect, it } from 'vitest';
import { wheelMetadata } from '../../../../src/features/packages/pure/wheel-metadata.ts';
import { makeWheel, makeZip } from '../../../support/wheels.ts';

const MEBIBYTE = 1024 * 1024;
const read = (wheel: Buffer) => wheelMetadata(wheel, 'a.whl');
const zipOf = (content: string | Buffer, isDeflated = false) =>
  makeZip([
    { path: 'a/__init__.py', content: Buffer.from('x'), isDeflated },
    { path: 'a-1.dist-info/METADATA', content: Buffer.from(content), isDeflated },
  ]);

it('reads metadata, stored or compressed', () => {
  expect(read(makeWheel({ name: 'a', requires: ['b'] }).bytes)).toMatch(/^Metadata-Version: .*\nRequires-Dist: b\n$/s);
  expect(read(zipOf('Name: ä', true))).toBe('Name: ä');
});

it('reads an archive with a comment, and one that is its own comment', () => {
  const zip = zipOf('Name: a');
  expect(read(Buffer.concat([zip, Buffer.alloc(60_000, 'c')]))).toBe('Name: a');
  expect(() => read(Buffer.concat([zip, Buffer.alloc(70_000, 'c')]))).toThrow('a.whl is not a valid wheel');
});

it.each([
  ['rubbish', Buffer.from('rubbish')],
  ['nothing', Buffer.alloc(0)],
  ['no metadata', makeZip([{ path: 'a/a-1.dist-info/METADATA', content: Buffer.from('Name: a') }])],
  ['half of one', zipOf('Name: a').subarray(0, 60)],
  ['an end without its entries', zipOf('Name: a').subarray(-22)],
  ['a bomb', zipOf(Buffer.alloc(4 * MEBIBYTE + 1), true)],
])('refuses %s', (_, wheel) => {
  expect(() => read(wheel)).toThrow(
    expect.objectContaining({ kind: 'wheel', message: expect.stringMatching(/^a\.whl is not a valid wheel: ./) }),
  );
});

it('never fails otherwise, whatever byte is another one', () => {
  const zip = zipOf('Name: a', true);
  for (let at = 0; at < zip.length; at += 1) {
    for (const value of [0, 0xff]) {
      const changed = Buffer.from(zip);
      changed[at] = value;
      const found = (() => {
        try {
          return read(changed);
        } catch (error) {
          return (error as Error).message;
        }
      })();
      expect(found.length < 200, `byte ${at}`).toBe(true);
    }
  }
});
