// @ts-check
/**
 * Runs inside a bridge (`node --import 'loop-probe.mjs?socket=PATH' …`) and measures how long its event loop is blocked.
 *
 * A timer fires late either because this process was working or because it waited for a core. The second says nothing about the
 * bridge, so it is subtracted: Linux counts it per thread (the second number of `/proc/PID/task/TID/schedstat`). What remains
 * is work, garbage collection and our own blocking calls. A blocking call can itself wait for other processes, as starting a
 * process does. So if tasks waited for a core during half of a long delay (`/proc/pressure/cpu`), only the time for which this
 * thread ran counts (the first number).
 *
 * Each connection to the socket gets the measurements since the last one, taken after a garbage collection. If it sends a number, the
 * loop is held for so many milliseconds after that, which shows that the measurement works.
 */
import { openSync, readSync } from 'node:fs';
import { createServer } from 'node:net';
import { isMainThread } from 'node:worker_threads';

const EVERY_MS = 2;
/** Shorter delays are ignored; half of what the gate allows for the 99th percentile. */
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
    // The time of this collection does not count.
    last = now();
    const p99 = sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? 0;
    const { rss, heapUsed, external } = process.memoryUsage();
    const measured = { turns: sorted.length, p99Ms: p99, maxMs: sorted.at(-1) ?? 0, rss, heapUsed, external };
    connection
      .on('error', () => undefined)
      .on('data', (text) => {
        for (const end = performance.now() + Number(text); performance.now() < end; ) {
          // Work.
        }
      })
      .end(JSON.stringify(measured));
  });
  server.listen(socket).unref();
}

/**
 * Milliseconds for which this thread ran, and for which it was ready but had no core; always 0 if the kernel does not count
 * them.
 */
function openThreadTimes() {
  const read = openNumbers(`/proc/self/task/${process.pid}/schedstat`, /^(\d+) (\d+)/);
  return () => {
    const [ran = 0, waited = 0] = read();
    return { ranMs: ran / 1e6, waitedMs: waited / 1e6 };
  };
}

/** Milliseconds since boot during which some task waited for a core. */
function openPressure() {
  const read = openNumbers('/proc/pressure/cpu', /^some .*total=(\d+)/);
  return () => (read()[0] ?? 0) / 1000;
}

/**
 * @param {string} path
 * @param {RegExp} pattern Its groups are numbers.
 * @returns {() => number[]} Reads the current numbers; none if there is no such file.
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
