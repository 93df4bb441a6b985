import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { packetsInto } from '../../../../src/edges/engines/kubernetes/packets.ts';

/** The contents of whole packets. */
function unpack(bytes: Buffer): string[] {
  const contents: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = bytes.readUInt32BE(at);
    contents.push(bytes.subarray(at + 4, at + 4 + size).toString('utf8'));
    at += 4 + size;
  }
  return contents;
}

describe('the input of a Pod', () => {
  it('is what was written, in packets', async () => {
    const target = new PassThrough();
    const packets = packetsInto(target);
    packets.write('a');
    packets.write(Buffer.from('bc'));
    packets.cork();
    packets.write('d');
    packets.write('é');
    packets.uncork();
    packets.end();
    expect(
      unpack((await target.toArray()).reduce<Buffer>((all, chunk) => Buffer.concat([all, chunk]), Buffer.alloc(0))),
    ).toEqual(['a', 'bc', 'dé']);
  });

  it('has an empty packet whenever nothing was written for a while', async () => {
    const target = new PassThrough();
    const packets = packetsInto(target, 5);
    await once(target, 'readable');
    expect(unpack(target.read() as Buffer)[0]).toBe('');
    packets.destroy();
    expect(target.destroyed).toBe(true);
  });

  it('waits while nothing is read, and ends when the pipe is gone', async () => {
    const target = new PassThrough({ highWaterMark: 10 });
    const packets = packetsInto(target);
    packets.write('x'.repeat(100));
    packets.write('y');
    expect(packets.writableLength).toBeGreaterThan(0);
    target.destroy();
    await once(packets, 'close');
    expect(packets.destroyed).toBe(true);
  });
});
