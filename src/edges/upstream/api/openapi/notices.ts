/** What could not be used of a description, by reason, so that a thousand operations with one fault give one clause. */

/** Names for each reason, and reasons. Chosen: a person reads them. */
const MAX_NAMES = 3;
const MAX_NOTICES = 20;

export class CompileNotices {
  readonly #names = new Map<string, Set<string>>();

  /** `reason` is a clause without its subject, which is `name`: an operation or the like. */
  add(name: string, reason: string): void {
    const names = this.#names.get(reason) ?? new Set();
    this.#names.set(reason, names.add(name));
  }

  list(): string[] {
    const clauses = [...this.#names].map(([reason, names]) => `${enumerated([...names])}: ${reason}`);
    const more = clauses.length - MAX_NOTICES;
    return more > 0 ? [...clauses.slice(0, MAX_NOTICES), `and ${more} more like these`] : clauses;
  }
}

function enumerated(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(', ') + (more > 0 ? ` and ${more.toLocaleString('en-US')} more` : '');
}
