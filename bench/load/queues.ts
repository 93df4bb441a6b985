/** What a discrete-event simulation of processes consists of: a timeline, cores that are shared, and event loops that run on them. */

interface Event {
  readonly atMs: number;
  /** Of two events at the same time, the one that was planned first comes first. */
  readonly order: number;
  readonly action: () => void;
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** Events in the order of their times: a binary heap. */
export class Timeline {
  readonly #heap: Event[] = [];
  #nowMs = 0;
  #order = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, action: () => void): void {
    this.#order += 1;
    const event = { atMs: this.#nowMs + delayMs, order: this.#order, action };
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Event;
      if (!isBefore(event, above)) {
        break;
      }
      heap[at] = above;
      at = parent;
    }
    heap[at] = event;
  }

  /** Runs every event up to this time. */
  runUntil(endMs: number): void {
    for (let [next] = this.#heap; next !== undefined && next.atMs <= endMs; [next] = this.#heap) {
      this.#removeFirst();
      this.#nowMs = next.atMs;
      next.action();
    }
    this.#nowMs = endMs;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) {
      return;
    }
    let at = 0;
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (child === undefined || !isBefore(child, last)) {
        break;
      }
      heap[at] = child;
      at = 2 * at + (isRight ? 2 : 1);
    }
    heap[at] = last;
  }
}

interface Task {
  leftMs: number;
  readonly done: () => void;
}

/** Cores that whoever waits longest gets, for one slice at a time. A slice of `Infinity` is first come, first served. */
export class Cores {
  readonly #timeline: Timeline;
  readonly #count: number;
  readonly #sliceMs: number;
  readonly #waiting = new Queue<Task>();
  #running = 0;
  #busyMs = 0;

  constructor(timeline: Timeline, { count, sliceMs }: { readonly count: number; readonly sliceMs: number }) {
    this.#timeline = timeline;
    this.#count = count;
    this.#sliceMs = sliceMs;
  }

  /** Time of all cores together in which one was used. */
  get busyMs(): number {
    return this.#busyMs;
  }

  run(workMs: number, done: () => void): void {
    if (workMs <= 0) {
      done();
      return;
    }
    this.#waiting.push({ leftMs: workMs, done });
    this.#serve();
  }

  #serve(): void {
    while (this.#running < this.#count) {
      const task = this.#waiting.shift();
      if (task === undefined) {
        return;
      }
      const sliceMs = Math.min(task.leftMs, this.#sliceMs);
      this.#running += 1;
      this.#timeline.after(sliceMs, () => {
        this.#running -= 1;
        this.#busyMs += sliceMs;
        task.leftMs -= sliceMs;
        if (task.leftMs > 0) {
          this.#waiting.push(task);
        } else {
          task.done();
        }
        this.#serve();
      });
    }
  }
}

/** A process with one thread: it does one thing at a time, a turn of each in turn, and needs a core for it. */
export class EventLoop {
  readonly #cores: Cores;
  readonly #turnMs: number;
  readonly #waiting = new Queue<Task>();
  #isRunning = false;

  constructor(cores: Cores, turnMs: number) {
    this.#cores = cores;
    this.#turnMs = turnMs;
  }

  run(workMs: number, done: () => void): void {
    if (workMs <= 0) {
      done();
      return;
    }
    this.#waiting.push({ leftMs: workMs, done });
    this.#takeTurn();
  }

  #takeTurn(): void {
    const task = this.#isRunning ? undefined : this.#waiting.shift();
    if (task === undefined) {
      return;
    }
    this.#isRunning = true;
    const turnMs = Math.min(task.leftMs, this.#turnMs);
    this.#cores.run(turnMs, () => {
      this.#isRunning = false;
      task.leftMs -= turnMs;
      if (task.leftMs > 0) {
        this.#waiting.push(task);
      } else {
        task.done();
      }
      this.#takeTurn();
    });
  }
}

/** First in, first out; taking one out costs the same however long it is. */
class Queue<Item> {
  #items: Item[] = [];
  #first = 0;

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    const item = this.#items[this.#first];
    if (item !== undefined) {
      this.#first += 1;
      if (this.#first > 1_000 && this.#first * 2 > this.#items.length) {
        this.#items = this.#items.slice(this.#first);
        this.#first = 0;
      }
    }
    return item;
  }
}
