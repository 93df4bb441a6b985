/** Starts the view of a cell in the frame that a client gives it. */
import { render } from 'preact';
import { type CellState, ChatCell } from './chat-cell.tsx';
import { Host } from './host.ts';
import { applyTheme } from './host-theme.ts';
import { readShownResult } from './shown-result.ts';

const MAX_CODE_CHARS = 200_000;

const root = document.querySelector<HTMLElement>('#app');
if (root !== null) {
  start(root);
}

function start(box: HTMLElement): void {
  let state: CellState = {};
  const show = (change: CellState): void => {
    state = { ...state, ...change };
    render(<ChatCell {...state} />, box);
  };
  const host = new Host(window, {
    onContext: (context) => applyTheme(document.documentElement, context),
    onInput: ({ code }) => show({ code: typeof code === 'string' ? code.slice(0, MAX_CODE_CHARS) : undefined }),
    onResult: (result) => show({ result: readShownResult(result) }),
    onCancelled: () => show({ isCancelled: true }),
  });
  show({});
  // Its height is that of its content, whatever that of the frame.
  new ResizeObserver(() => {
    host.resized({ width: Math.ceil(window.innerWidth), height: Math.ceil(box.getBoundingClientRect().height) });
  }).observe(box);
}
