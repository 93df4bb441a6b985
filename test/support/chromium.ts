/** The Chromium of this machine, for pages that a browser shows. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = [
  process.env['MCP_BRIDGE_TEST_CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** Its path, or undefined. */
export function findChromium(): string | undefined {
  const found = PLACES.find((path) => path !== '' && existsSync(path));
  if (found === undefined && process.env['MCP_BRIDGE_TEST_REQUIRE_ENGINES'] === '1') {
    throw new Error('MCP_BRIDGE_TEST_REQUIRE_ENGINES=1, but there is no Chromium: install the package chromium.');
  }
  return found;
}

/** Without Chromium's own sandbox, which does not start as root. It opens only pages of tests. */
export function startChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--force-color-profile=srgb',
      // A name of someone else that leads here, for attacks.
      '--host-resolver-rules=MAP rebound.example 127.0.0.1',
      '--no-proxy-server',
    ],
  });
}
