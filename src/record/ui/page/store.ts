/** What all views share: signals that redraw whoever reads them. */
import { signal } from '@preact/signals';
import type { UiOverview } from '../schema.ts';
import { LiveModel } from './live-model.ts';
import { formatRoute, parseRoute, type Route } from './route.ts';

/** `refused`: the token is wrong or missing, so trying again does not help. */
export type ConnectionState = 'connecting' | 'live' | 'lost' | 'refused';

export const connection = signal<ConnectionState>('connecting');
export const route = signal<Route>(parseRoute(''));
/** The parts of the overview that events do not change. */
export const about = signal<Pick<UiOverview, 'version' | 'state_dir' | 'folder' | 'features'> | undefined>(undefined);
/** Redraws what shows times. */
export const clock = signal(Date.now());

const model = new LiveModel();
const changes = signal(0);

/** The model, for views: whoever calls this while drawing is drawn again when it changes. */
export function live(): LiveModel {
  void changes.value;
  return model;
}

/** The model, for the connection. */
export function rawModel(): LiveModel {
  return model;
}

export function modelChanged(): void {
  changes.value += 1;
}

export interface Notice {
  readonly id: number;
  readonly text: string;
  readonly isError: boolean;
}

const NOTICE_MS = 8_000;
const MAX_NOTICES = 4;
export const notices = signal<readonly Notice[]>([]);
/** For screen readers. */
export const politeMessage = signal('');
let lastNotice = 0;

export function notify(text: string, isError = false): void {
  lastNotice += 1;
  const id = lastNotice;
  notices.value = [...notices.value, { id, text, isError }].slice(-MAX_NOTICES);
  if (!isError) {
    window.setTimeout(() => dismiss(id), NOTICE_MS);
  }
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

/** For when what had the focus is gone. */
export function focusHeading(id?: string): void {
  document.querySelector<HTMLElement>(id === undefined ? 'main h1' : `#${id}`)?.focus();
}

export function announce(text: string): void {
  politeMessage.value = text;
}

export function goTo(...place: Parameters<typeof formatRoute>): void {
  location.hash = formatRoute(...place);
}

/** Changes the address without a step in the history of the browser: for filters. */
export function replaceRoute(...place: Parameters<typeof formatRoute>): void {
  history.replaceState(null, '', formatRoute(...place));
  route.value = parseRoute(location.hash);
}
