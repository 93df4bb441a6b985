/** A page in Chromium that keeps what it must never have: exceptions, errors, violations of its policy, and requests to elsewhere. */
import type { Browser, Locator, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { PATIENCE } from './patience.ts';

export interface WatchedPage {
  readonly page: Page;
  readonly faults: () => Promise<readonly string[]>;
}

export interface PageLook {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
}

const WAIT_MS = 20_000 * PATIENCE;

/** In a context of its own, until the test has ended. */
export async function openWatchedPage(
  browser: Browser,
  address: string,
  { height = 900, scheme = 'light', width = 1_280 }: PageLook = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    reducedMotion: 'reduce',
  });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(WAIT_MS);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await context.newPage();
  const seen: string[] = [];
  page.on('pageerror', (error) => seen.push(`exception: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') {
      seen.push(`console: ${message.text()}`);
    }
  });
  const { origin } = new URL(address);
  context.on('request', (request) => {
    if (![`${origin}/`, `blob:${origin}/`].some((start) => request.url().startsWith(start))) {
      seen.push(`request: ${request.url()}`);
    }
  });
  await page.addInitScript(
    "window.violations = []; document.addEventListener('securitypolicyviolation', (event) => violations.push(`${event.violatedDirective}: ${event.blockedURI}`));",
  );
  await page.goto(address);
  return { page, faults: async () => [...seen, ...(await page.evaluate<string[]>('violations'))] };
}

/** Shows a view of the page of `ui`, such as `history?text=x`. */
export async function goTo(page: Page, place: string): Promise<void> {
  await page.evaluate(`location.hash = '#/${place}'`);
  await expectShown(page.locator('main h1'));
  // Not a function to wait for: it would be evaluated in the page, which its policy refuses.
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

export async function expectShown(what: Locator): Promise<void> {
  await what.first().waitFor();
}

/** To be evaluated: afterwards, `framesSeen()` is the longest time between two frames since, and their number. */
export const MEASURE_FRAMES = `(() => {
  let [last, longest, frames] = [performance.now(), 0, 0];
  const next = (now) => {
    longest = Math.max(longest, now - last);
    [last, frames] = [now, frames + 1];
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
  window.framesSeen = () => ({ longest, frames });
})()`;
