/**
 * A map that forgets what was set longest ago when it has more than `max` entries: the cap of tables whose keys others choose. What must
 * not be forgotten, because a limit depends on it, needs a table that refuses instead.
 */
export class CappedMap<Key, Value> extends Map<Key, Value> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  /** Moves the key to the end, also if it was there. */
  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    for (const oldest of this.keys()) {
      if (this.size <= this.#max) {
        break;
      }
      this.delete(oldest);
    }
    return this;
  }
}
