/** What belongs to a piece of work, with `AsyncLocalStorage` and without it. */
import { describe, expect, it } from 'vitest';
import { createAsyncContext } from '../../../src/record/telemetry/async-context.ts';
import { pause } from '../../support/pause.ts';

const later = (milliseconds = 1) => pause(milliseconds, 'a timer is not followed, but what awaits it is');

describe.each(['20.20.2', '24.0.0'])('in Node %s', (version) => {
  const open = () => createAsyncContext<string>(version);

  it('the value is there after each await, in branches, and in work that nothing awaits', async () => {
    const context = open();
    const seen: (string | undefined)[] = [];
    const look = async (): Promise<void> => {
      seen.push(context.get());
      await Promise.resolve();
      seen.push(context.get());
    };
    const late = context.run('a', () => later().then(look));
    await context.run('a', async () => {
      await look();
      await Promise.all([look(), later().then(look)]);
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(context.get());
      await Promise.reject(new Error('no')).catch(look);
    });
    await late;
    expect(seen).toEqual(seen.map(() => 'a'));
    expect(seen).toHaveLength(11);
  });

  it('is not there before, beside and afterwards', async () => {
    const context = open();
    expect(context.get()).toBeUndefined();
    const inner = context.run('a', async () => {
      await later();
      return context.get();
    });
    expect(context.get()).toBeUndefined();
    await Promise.resolve();
    expect(context.get()).toBeUndefined();
    expect(await inner).toBe('a');
    expect(context.get()).toBeUndefined();
    expect(() =>
      context.run('a', () => {
        throw new Error('thrown');
      }),
    ).toThrow('thrown');
    expect(context.get()).toBeUndefined();
  });

  it('is the innermost, and the outer one again behind it', async () => {
    const context = open();
    const seen = await context.run('outer', async () => {
      const inner = await context.run('inner', async () => {
        await later();
        return context.get();
      });
      return [inner, context.get()];
    });
    expect(seen).toEqual(['inner', 'outer']);
  });

  it('is not mixed up by much at once', async () => {
    const context = open();
    const names = Array.from({ length: 100 }, (_, number) => String(number));
    const seen = await Promise.all(
      names.map((name) =>
        context.run(name, async () => {
          await later(Number(name) % 7);
          return context.get();
        }),
      ),
    );
    expect(seen).toEqual(names);
  });
});
