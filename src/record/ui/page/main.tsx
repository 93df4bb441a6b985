/** Starts the page. */
import { render } from 'preact';
import { takeToken } from './api.ts';
import { App } from './app.tsx';
import { stayConnected } from './connection.ts';
import { parseRoute } from './route.ts';
import { clock, route } from './store.ts';

const CLOCK_MS = 500;

takeToken();
route.value = parseRoute(location.hash);
window.addEventListener('hashchange', () => {
  // The command was started again, and its new link was opened in this tab.
  if (location.hash.startsWith('#token=')) {
    takeToken();
    location.reload();
  }
  route.value = parseRoute(location.hash);
});
window.setInterval(() => {
  if (!document.hidden) {
    clock.value = Date.now();
  }
}, CLOCK_MS);
const root = document.querySelector('#app');
if (root !== null) {
  render(<App />, root);
}
void stayConnected();
