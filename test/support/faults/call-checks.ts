/** Checks G1 around each call, and keeps the calls and answers of a case. */
import type { RunPythonAnswer } from '../bridge-client.ts';
import type { Arena } from './arena.ts';
import type { RunOptions, SeenAnswer } from './fault-case.ts';
import { ANSWER_GRACE_MS } from './gates.ts';
import { startClock } from './wait.ts';

export const ATTACKED = 'attacked';
const TIMEOUT_SECONDS = 5;
const SERVERS = ['ledger', 'echo'];
const STATUSES = ['success', 'error', 'timeout', 'cancelled', 'validation_error'];
/** An answer that has not arrived by then will not come. */
const GIVE_UP_MS = 60_000;

export interface Caller {
  run(code: string, options?: RunOptions): Promise<SeenAnswer>;
  /** Violations of G1 so far. */
  readonly wrong: readonly string[];
  /** Text of each answer so far, by session. */
  readonly texts: ReadonlyMap<string, readonly string[]>;
}

/** Measured calls. `wrong` collects violations, so that the case continues and every gate is reported. */
export function createCaller({ bridge, answers }: Arena): Caller {
  const wrong: string[] = [];
  const texts = new Map<string, string[]>();
  const answeredBefore = answers.length;

  async function run(code: string, options: RunOptions = {}): Promise<SeenAnswer> {
    const { timeout = TIMEOUT_SECONDS, session = ATTACKED, servers = SERVERS, signal, onProgress } = options;
    const clock = startClock();
    const answer = toSeen(
      await bridge.runPython(
        code,
        { timeout, session, servers },
        {
          timeout: timeout * 1000 + GIVE_UP_MS,
          ...(signal && { signal }),
          ...(onProgress && { onprogress: onProgress }),
        },
      ),
    );
    const tookMs = clock.elapsed();
    if (tookMs > timeout * 1000 + ANSWER_GRACE_MS) {
      wrong.push(`answered after ${Math.round(tookMs)} ms, with a timeout of ${timeout} s`);
    }
    wrong.push(...whatIsWrong(answer));
    texts.set(session, [...(texts.get(session) ?? []), answer.text]);
    return answer;
  }

  return {
    run,
    get wrong() {
      const ids = answers.slice(answeredBefore).map(({ id }) => id);
      const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
      return [...wrong, ...twice.map((id) => `request ${id} was answered more than once`)];
    },
    texts,
  };
}

function toSeen({ text, structured, isError }: RunPythonAnswer): SeenAnswer {
  const fields = structured as Readonly<Record<string, string | readonly string[] | undefined>>;
  const lines = (name: string) => [fields[name] ?? []].flat().join('\n');
  // Compact mode leaves out default values.
  const status = lines('status') || (isError ? '' : 'success');
  return {
    text,
    status,
    stdout: lines('stdout'),
    stderr: lines('stderr'),
    result: lines('result'),
    error: lines('error'),
    notices: lines('notices'),
  };
}

function whatIsWrong({ status, error, text }: SeenAnswer): string[] {
  if (!STATUSES.includes(status) || text === '') {
    return [`no status in the answer, or no text: ${text.slice(0, 200)}`];
  }
  return status === 'success' || error !== '' ? [] : [`status ${status} without an error`];
}
