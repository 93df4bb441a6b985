/** Records cells by kind, and violations. */

interface Kind {
  readonly milliseconds: number[];
  disturbed: number;
  overloaded: number;
}

export class Record {
  readonly #kinds = new Map<string, Kind>();
  readonly violations: string[] = [];
  readonly startedMs = performance.now();

  /** Records the end of a cell of `kind`; `explanation` is set if the outcome was unexpected but is explained. */
  add(kind: string, milliseconds: number, explanation?: 'disturbed' | 'overloaded'): void {
    const entry = this.#kinds.get(kind) ?? { milliseconds: [], disturbed: 0, overloaded: 0 };
    entry.milliseconds.push(milliseconds);
    if (explanation !== undefined) {
      entry[explanation] += 1;
    }
    this.#kinds.set(kind, entry);
  }

  violate(what: string): void {
    const seconds = ((performance.now() - this.startedMs) / 1000).toFixed(1);
    this.violations.push(`at ${seconds} s: ${what}`);
    console.error(`soak: VIOLATED ${this.violations.at(-1)}`);
  }

  /** By kind, sorted: number of cells, number disturbed from outside or refused by a busy machine, and latencies in ms. */
  table(): {
    kind: string;
    count: number;
    disturbed: number;
    overloaded: number;
    p50: number;
    p95: number;
    max: number;
  }[] {
    return [...this.#kinds]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([kind, { disturbed, milliseconds, overloaded }]) => {
        const sorted = milliseconds.toSorted((a, b) => a - b);
        const at = (share: number) =>
          Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
        return { kind, count: sorted.length, disturbed, overloaded, p50: at(0.5), p95: at(0.95), max: at(1) };
      });
  }
}
