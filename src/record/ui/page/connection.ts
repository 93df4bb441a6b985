/**
 * The one event stream of the page. It is read with `fetch`, because `EventSource` cannot send a token. Events are applied once per
 * frame and for a few milliseconds at most, so that a flood of them never blocks the page.
 */
import type { UiEvent, UiOverview } from '../schema.ts';
import { get, RequestFailure, send } from './api.ts';
import { PageEventParser } from './event-parser.ts';
import { about, announce, connection, modelChanged, rawModel } from './store.ts';

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
/** The server sends a comment every 15 seconds. */
const SILENCE_MS = 40_000;
/** Well below the 16 ms of a frame. */
const BUDGET_MS = 6;
/** More than a page can show: what waits is thrown away, and the overview is read again. */
const MAX_QUEUE = 50_000;
/** The overview is read at most this often, and at least so often, for ages and memory. */
const OVERVIEW_MS = 700;
const OVERVIEW_AGE_MS = 10_000;
/** For rows of a map, which have no events. */
const ROWS_AGE_MS = 2_000;
/** A page in the background has no frames. */
const HIDDEN_MS = 500;

let queue: UiEvent[] = [];
let isScheduled = false;
let isLoaded = false;
let overviewAt = 0;
let overviewTimer: number | undefined;
let wakeUp = (): void => {};

/** Reads events until the page is closed, or its token is refused. */
export async function stayConnected(): Promise<void> {
  window.addEventListener('online', () => wakeUp());
  window.setInterval(refreshIfOld, ROWS_AGE_MS / 2);
  for (let attempt = 0; ; attempt += 1) {
    const ended = await readEvents().then(
      () => 0,
      (error: unknown) => error,
    );
    const wasLive = connection.value === 'live';
    attempt = wasLive ? 0 : attempt;
    if (ended instanceof RequestFailure && ended.status === 401) {
      connection.value = 'refused';
      return;
    }
    connection.value = 'lost';
    await pause(Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** attempt) * (0.75 + Math.random() / 2));
  }
}

export function retryNow(): void {
  wakeUp();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = window.setTimeout(resolve, ms);
    wakeUp = () => {
      window.clearTimeout(timer);
      resolve();
    };
  });
}

async function readEvents(): Promise<void> {
  const control = new AbortController();
  let silence = window.setTimeout(() => control.abort(), SILENCE_MS);
  try {
    const { body } = await send('/api/events', { signal: control.signal });
    if (body === null) {
      return;
    }
    [queue, isLoaded] = [[], false];
    await loadOverview(true);
    connection.value = 'live';
    const parser = new PageEventParser();
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      window.clearTimeout(silence);
      silence = window.setTimeout(() => control.abort(), SILENCE_MS);
      queue.push(...parser.push(decoder.decode(value, { stream: true })).map((data) => JSON.parse(data) as UiEvent));
      schedule();
    }
  } finally {
    window.clearTimeout(silence);
    control.abort();
  }
}

async function loadOverview(isFresh: boolean): Promise<void> {
  overviewAt = Date.now();
  const overview = await get<UiOverview>('/api/overview');
  const model = rawModel();
  const before = model.approvals.length;
  model.load(overview, isFresh);
  isLoaded = true;
  const { features, folder, state_dir, version } = overview;
  about.value = { features, folder, state_dir, version };
  const waiting = model.approvals.length;
  if (waiting > before) {
    announce(
      waiting === 1 ? 'A question waits for you in Approvals.' : `${waiting} questions wait for you in Approvals.`,
    );
  }
  modelChanged();
}

function schedule(): void {
  if (isScheduled) {
    return;
  }
  isScheduled = true;
  let isDone = false;
  const once = (): void => {
    if (!isDone) {
      isDone = true;
      isScheduled = false;
      applyQueue();
    }
  };
  requestAnimationFrame(once);
  window.setTimeout(once, HIDDEN_MS);
}

function applyQueue(): void {
  const model = rawModel();
  if (!isLoaded) {
    return;
  }
  if (queue.length > MAX_QUEUE) {
    queue = [];
    model.needsAll = true;
  }
  const end = performance.now() + BUDGET_MS;
  let applied = 0;
  while (applied < queue.length && performance.now() < end) {
    for (const event of queue.slice(applied, applied + 50)) {
      model.apply(event);
    }
    applied += 50;
  }
  queue = queue.slice(applied);
  modelChanged();
  if (model.needsAll || model.needsOverview) {
    askForOverview();
  }
  if (queue.length > 0) {
    schedule();
  }
}

/** Reads the overview soon, but not more than once in a while. */
export function askForOverview(): void {
  if (overviewTimer !== undefined) {
    return;
  }
  const wait = Math.max(0, overviewAt + OVERVIEW_MS - Date.now());
  overviewTimer = window.setTimeout(() => {
    overviewTimer = undefined;
    const model = rawModel();
    const isFresh = model.needsAll;
    [model.needsAll, model.needsOverview] = [false, false];
    // If this fails, so does the stream, and the overview is read after it is back.
    loadOverview(isFresh).catch(() => undefined);
  }, wait);
}

function refreshIfOld(): void {
  const maxAge = rawModel().isMapRunning ? ROWS_AGE_MS : OVERVIEW_AGE_MS;
  if (connection.value === 'live' && !document.hidden && Date.now() - overviewAt >= maxAge) {
    askForOverview();
  }
}
