/** Ends an exchange on which no byte has moved for long, and one whose connection to the sandbox has ended. */
import { BridgeError } from '../../../core/base/errors.ts';

export interface Silence {
  /** Aborts, with a `BridgeError` as its reason. */
  readonly signal: AbortSignal;
  /** A byte has moved. */
  touch(): void;
  /** The exchange is over. */
  end(): void;
}

export function watchSilence(outer: AbortSignal, maxMs: number, host: string): Silence {
  const abort = new AbortController();
  const onOuter = (): void => {
    abort.abort(
      new BridgeError('CALL_CANCELLED', `The request to ${host} was given up: the sandbox closed its connection.`),
    );
  };
  const timer = setTimeout(() => {
    const hint = 'Try again, or ask the API for less at once.';
    const text = `The request to ${host} was ended: no byte moved for ${maxMs / 1000} s.`;
    abort.abort(new BridgeError('CALL_TIMEOUT', text, { hint }));
  }, maxMs);
  // By hand: `AbortSignal.any` keeps something for each request, as long as the connection lives (Node 20).
  outer.addEventListener('abort', onOuter, { once: true });
  if (outer.aborted) {
    onOuter();
  }
  return {
    signal: abort.signal,
    touch: () => timer.refresh(),
    end: () => {
      clearTimeout(timer);
      outer.removeEventListener('abort', onOuter);
    },
  };
}
