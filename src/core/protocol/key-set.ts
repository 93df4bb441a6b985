/** The keys of one JSON object while it is read byte by byte: whether one is repeated, and whether JavaScript would reorder them. */

/** So many keys are compared one by one, which is faster than a set. Chosen. */
const FEW_KEYS = 32;
/** A hash of 53 bits for each key; for more keys, equal hashes and the memory become likely to matter. Chosen. */
const MAX_KEYS = 100_000;
/** Keys up to this one are indices of arrays, which JavaScript puts first, in ascending order (ECMA-262, 10.1.11). */
const MAX_INDEX = 2 ** 32 - 2;
const ZERO = 0x30;
const NINE = 0x39;

export class KeySet {
  readonly #few = new Float64Array(FEW_KEYS);
  #many: Set<number> | undefined;
  #count = 0;
  #lastIndex = -1;
  #hasNames = false;
  /** Of the current key: two hashes, its length, and its value if it is an index. */
  #hash = 0;
  #otherHash = 0;
  #length = 0;
  #index = 0;

  /** Begins another object. */
  clear(): void {
    this.#count = 0;
    this.#many = undefined;
    this.#lastIndex = -1;
    this.#hasNames = false;
  }

  beginKey(): void {
    this.#hash = 0;
    this.#otherHash = 0;
    this.#length = 0;
    this.#index = 0;
  }

  /** Adds a byte of the key in UTF-8. */
  addByte(byte: number): void {
    this.#hash = Math.imul(this.#hash ^ byte, 0x01000193) + 1;
    this.#otherHash = Math.imul(this.#otherHash + byte, 0x5bd1e995) ^ (this.#otherHash >>> 15);
    const isDigit = byte >= ZERO && byte <= NINE && (this.#length === 0 || this.#index > 0);
    this.#index = isDigit && this.#index <= MAX_INDEX ? this.#index * 10 + byte - ZERO : -1;
    this.#length += 1;
  }

  /** Adds a character that was escaped. Not for surrogates. */
  addCharacter(code: number): void {
    if (code < 0x80) {
      this.addByte(code);
    } else if (code < 0x800) {
      this.addByte(0xc0 | (code >> 6));
      this.addByte(0x80 | (code & 0x3f));
    } else {
      this.addByte(0xe0 | (code >> 12));
      this.addByte(0x80 | ((code >> 6) & 0x3f));
      this.addByte(0x80 | (code & 0x3f));
    }
  }

  /** Returns false if the key may be there already, or if JavaScript may write the keys in another order. */
  endKey(): boolean {
    const isIndex = this.#length > 0 && this.#index >= 0 && this.#index <= MAX_INDEX;
    if (isIndex && (this.#hasNames || this.#index <= this.#lastIndex)) {
      return false;
    }
    if (isIndex) {
      this.#lastIndex = this.#index;
    } else {
      this.#hasNames = true;
    }
    return this.#add((this.#hash >>> 0) * 2 ** 21 + (this.#otherHash >>> 11));
  }

  #add(key: number): boolean {
    const count = this.#count;
    this.#count += 1;
    if (count < FEW_KEYS) {
      for (let at = 0; at < count; at += 1) {
        if (this.#few[at] === key) {
          return false;
        }
      }
      this.#few[count] = key;
      return true;
    }
    this.#many ??= new Set(this.#few);
    const isNew = !this.#many.has(key);
    this.#many.add(key);
    return isNew && count < MAX_KEYS;
  }
}
