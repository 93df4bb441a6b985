import { deflateRawSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { metadataIn } from '../../../../src/packages/pure/wheel-metadata.ts';
import { makeWheel } from '../../../support/wheels.ts';

const WHEEL = makeWheel({ name: 'a-b', requires: ['c>=1'] });

it('finds the metadata of a wheel', () => {
  expect(metadataIn(WHEEL.bytes)).toBe(WHEEL.metadata);
});

it('gives nothing for what is not a wheel, wherever it ends', () => {
  // The last two bytes are the length of a comment.
  for (let length = 0; length < WHEEL.bytes.length - 2; length += 1) {
    expect(metadataIn(WHEEL.bytes.subarray(0, length))).toBeUndefined();
  }
  expect(metadataIn(Buffer.alloc(10_000, 'PK\x05\x06'))).toBeUndefined();
});

it('unpacks what is compressed, but no more than metadata can have', () => {
  expect(metadataIn(compressed('Name: a-b'))).toBe('Name: a-b');
  expect(metadataIn(compressed('a'.repeat(64 * 1024 * 1024)))).toBeUndefined();
});

/** The wheel with other metadata, which follow after its end. */
function compressed(metadata: string): Buffer {
  const content = deflateRawSync(metadata);
  const emptyHeader = Buffer.alloc(30);
  const bytes = Buffer.concat([WHEEL.bytes, emptyHeader, content]);
  const name = WHEEL.bytes.lastIndexOf('.dist-info/METADATA');
  const entry = WHEEL.bytes.lastIndexOf(Buffer.from('PK\x01\x02', 'latin1'), name);
  const deflate = 8;
  bytes.writeUInt16LE(deflate, entry + 10);
  bytes.writeUInt32LE(content.length, entry + 20);
  bytes.writeUInt32LE(WHEEL.bytes.length, entry + 42);
  return bytes;
}
