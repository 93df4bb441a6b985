// @ts-check
/**
 * Runs inside a bridge (`node --import 'loop-probe.mjs?socket=PATH' …`) and measures how long its event loop is held.
 *
 * A timer that fires late tells either that this process worked or that it waited for a core while others had them. The
 * second says nothing about the bridge, so it is taken off: Linux counts it per thread (the second number of
 * `/proc/PID/task/TID/schedstat`). What is left is work, garbage collection and blocking calls of our own. A blocking call
 * can itself wait for others, as the start of a process does for the new one; so where somebody waited for a core for half
 * of a long delay (`/proc/pressure/cpu`), only the time for which this thread ran counts (the first number).
 *
 * Each connection to the socket is answered with what was measured since the last one, after a garbage collection.
 */
import { openSync, readSync } from 'node:fs';
import { createServer } from 'node:net';
import { isMainThread } from 'node:worker_threads';

const EVERY_MS = 2;
/** Delays below this are looked at no further; half of what the gate allows in one turn of a hundred. */
const LONG_MS = 25;
const PRESSURE_EVERY_MS = 50;
const socket = new URL(import.meta.url).searchParams.get('socket');

if (isMainThread && socket !== null) {
  /** @type {number[]} */
  let delays = [];
  const readTimes = openThreadTimes();
  const readPressure = openPressure();
  let last = now();
  let pressure = { at: last.at, ms: readPressure() };
  setInterval(() => {
    const next = now();
    let delay = next.at - last.at - EVERY_MS - (next.waitedMs - last.waitedMs);
    if (delay > LONG_MS || next.at - pressure.at > PRESSURE_EVERY_MS) {
      const sample = { at: next.at, ms: readPressure() };
      if (delay > LONG_MS && sample.ms - pressure.ms > (sample.at - pressure.at) / 2) {
        delay = next.ranMs - last.ranMs;
      }
      pressure = sample;
    }
    delays.push(Math.max(0, delay));
    last = next;
  }, EVERY_MS).unref();

  function now() {
    return { at: performance.now(), ...readTimes() };
  }

  const server = createServer((connection) => {
    const sorted = delays.toSorted((a, b) => a - b);
    delays = [];
    global.gc?.();
    // What the collection held the loop for is not the bridge's.
    last = now();
    const p99 = sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? 0;
    const { rss, heapUsed, external } = process.memoryUsage();
    const measured = { turns: sorted.length, p99Ms: p99, maxMs: sorted.at(-1) ?? 0, rss, heapUsed, external };
    connection.on('error', () => undefined).end(JSON.stringify(measured));
  });
  server.listen(socket).unref();
}

/** Milliseconds this thread ran, and was ready to run and had no core; always 0 where the kernel does not count them. */
function openThreadTimes() {
  const read = openNumbers(`/proc/self/task/${process.pid}/schedstat`, /^(\d+) (\d+)/);
  return () => {
    const [ran = 0, waited = 0] = read();
    return { ranMs: ran / 1e6, waitedMs: waited / 1e6 };
  };
}

/** Milliseconds since boot in which somebody waited for a core. */
function openPressure() {
  const read = openNumbers('/proc/pressure/cpu', /^some .*total=(\d+)/);
  return () => (read()[0] ?? 0) / 1000;
}

/**
 * @param {string} path
 * @param {RegExp} pattern Its groups are numbers.
 * @returns {() => number[]} Reads them anew; none where there is no such file.
 */
function openNumbers(path, pattern) {
  const buffer = Buffer.alloc(256);
  try {
    const file = openSync(path, 'r');
    return () => {
      const text = buffer.toString('latin1', 0, readSync(file, buffer, 0, buffer.length, 0));
      return (pattern.exec(text) ?? []).slice(1).map(Number);
    };
  } catch {
    return () => [];
  }
}
