/** Compares the calls that servers received with the answers of cells: every call at most once, and exactly once if it succeeded. */
import { readFileSync } from 'node:fs';

/** How many times a call may have reached its server. */
type Expected = 'once' | 'at most once' | 'never';

interface Entry {
  readonly key: string;
  readonly event: 'begin' | 'end';
}

export class Ledger {
  readonly #files: readonly string[];
  readonly #expected = new Map<string, Expected>();
  #keys = 0;

  constructor(files: readonly string[]) {
    this.#files = files;
  }

  /** A key for a call. Until it is settled, the call may or may not have happened. */
  newKey(): string {
    this.#keys += 1;
    const key = `k${this.#keys}`;
    this.#expected.set(key, 'at most once');
    return key;
  }

  settle(keys: readonly string[], expected: Expected): void {
    keys.forEach((key) => this.#expected.set(key, expected));
  }

  get size(): number {
    return this.#expected.size;
  }

  /** Every call that should not have arrived as it did. Calls of `slow` never end by themselves: they are cancelled. */
  faults(): string[] {
    const entries = this.#files.flatMap(readEntries);
    const begun = new Map<string, number>();
    const faults: string[] = [];
    for (const { event, key } of entries) {
      if (event === 'end') {
        faults.push(`call ${key} continued after its cell had ended`);
      } else {
        begun.set(key, (begun.get(key) ?? 0) + 1);
      }
    }
    for (const [key, times] of begun) {
      const expected = this.#expected.get(key);
      if (expected === undefined || expected === 'never' || times > 1) {
        faults.push(`call ${key} reached its server ${times} times; allowed: ${expected ?? 'never'}`);
      }
    }
    for (const [key, expected] of this.#expected) {
      if (expected === 'once' && !begun.has(key)) {
        faults.push(`call ${key} was answered but never reached its server`);
      }
    }
    return faults;
  }
}

function readEntries(file: string): Entry[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Entry);
  } catch {
    return []; // A server that was never started has written none.
  }
}
