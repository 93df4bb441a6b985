// @ts-check
/**
 * Runs inside a bridge (`node --import 'loop-probe.mjs?socket=PATH' …`) and measures how long its event loop is held.
 *
 * A timer that fires late tells either that this process worked or that it waited for a core while others had them. The
 * second says nothing about the bridge, so it is taken off: Linux counts it per thread (the second number of
 * `/proc/PID/task/TID/schedstat`). What is left is work, garbage collection and blocking calls of our own.
 *
 * Each connection to the socket is answered with what was measured since the last one, after a garbage collection.
 */
import { openSync, readSync } from 'node:fs';
import { createServer } from 'node:net';
import { isMainThread } from 'node:worker_threads';

const EVERY_MS = 2;
const socket = new URL(import.meta.url).searchParams.get('socket');

if (isMainThread && socket !== null) {
  /** @type {number[]} */
  let delays = [];
  const waited = openWaited();
  let last = { at: performance.now(), waitedMs: waited() };
  setInterval(() => {
    const now = { at: performance.now(), waitedMs: waited() };
    delays.push(Math.max(0, now.at - last.at - EVERY_MS - (now.waitedMs - last.waitedMs)));
    last = now;
  }, EVERY_MS).unref();

  const server = createServer((connection) => {
    const sorted = delays.toSorted((a, b) => a - b);
    delays = [];
    global.gc?.();
    // What the collection held the loop for is not the bridge's.
    last = { at: performance.now(), waitedMs: waited() };
    const p99 = sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? 0;
    const { rss, heapUsed, external } = process.memoryUsage();
    const measured = { turns: sorted.length, p99Ms: p99, maxMs: sorted.at(-1) ?? 0, rss, heapUsed, external };
    connection.on('error', () => undefined).end(JSON.stringify(measured));
  });
  server.listen(socket).unref();
}

/** Milliseconds this thread was ready to run and had no core; always 0 where the kernel does not count them. */
function openWaited() {
  const buffer = Buffer.alloc(128);
  try {
    const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
    return () => Number(buffer.toString('latin1', 0, readSync(file, buffer, 0, 128, 0)).split(' ')[1]) / 1e6;
  } catch {
    return () => 0;
  }
}
