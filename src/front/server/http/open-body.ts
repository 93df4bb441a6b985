/** What the bodies of one principal's requests take in memory, until each is answered. Their number is limited elsewhere. */

/** What all of them take. */
export interface BodyUse {
  bodyBytes: number;
}

/** The body of one request. Whoever makes one holds it until `release`. */
export class OpenBody {
  readonly #use: BodyUse;
  #holders = 1;
  #bytes = 0;

  constructor(use: BodyUse) {
    this.#use = use;
  }

  /** Says how much it takes, so far. Returns whether it may: one alone may be as large as the operator allows. */
  grow(bytes: number, maxBytes: number): boolean {
    if (this.#holders > 0) {
      this.#use.bodyBytes += bytes - this.#bytes;
      this.#bytes = bytes;
    }
    return this.#use.bodyBytes <= maxBytes || this.#use.bodyBytes === this.#bytes;
  }

  /** Holds it once more: a cell goes on although its client is gone. Returns the function that releases it. */
  hold(): () => void {
    if (this.#holders === 0) {
      return () => undefined;
    }
    this.#holders += 1;
    return () => this.release();
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders === 0) {
      this.#use.bodyBytes -= this.#bytes;
    }
  }
}
