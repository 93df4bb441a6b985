/** Single keys for what is done often. They can be turned off, because speech input types them by accident (WCAG 2.2, 2.1.4). */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { formatRoute, VIEWS } from './route.ts';
import { route } from './store.ts';

const STORED_AS = 'mcp-bridge-ui-keys';
export const areKeysOn = signal(localStorage.getItem(STORED_AS) !== 'off');

export function setKeysOn(isOn: boolean): void {
  areKeysOn.value = isOn;
  localStorage.setItem(STORED_AS, isOn ? 'on' : 'off');
}

export const KEYS: readonly { readonly key: string; readonly text: string }[] = [
  ...VIEWS.map((view, index) => ({
    key: String(index + 1),
    text: `Go to ${view[0]?.toUpperCase() ?? ''}${view.slice(1)}`,
  })),
  { key: '/', text: 'Search the history' },
  { key: '?', text: 'Show these keys' },
  { key: 'Esc', text: 'Close a dialog' },
];

/** How long a view that opens may take until its search field is there. */
const SEARCH_MS = 1_000;

export function useKeys(showKeys: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!areKeysOn.value) {
        return;
      }
      if (
        event.ctrlKey ||
        event.altKey ||
        event.metaKey ||
        isTyping(event.target) ||
        document.querySelector('dialog') !== null
      ) {
        return;
      }
      const view = VIEWS[Number(event.key) - 1];
      if (view !== undefined) {
        location.hash = formatRoute(view);
      } else if (event.key === '/') {
        event.preventDefault();
        focusSearch();
      } else if (event.key === '?') {
        showKeys();
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

function focusSearch(): void {
  if (route.value.view !== 'history') {
    location.hash = formatRoute('history');
  }
  const end = performance.now() + SEARCH_MS;
  const look = (): void => {
    const field = document.querySelector<HTMLInputElement>('#search');
    if (field !== null) {
      field.focus();
    } else if (performance.now() < end) {
      requestAnimationFrame(look);
    }
  };
  // After the view has taken the focus.
  window.setTimeout(look);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
  );
}
