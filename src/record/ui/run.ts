/** Starts the server of the page, prints its address, and serves until a signal ends it. */
import { fileURLToPath } from 'node:url';
import { PACKAGE_ROOT } from '../../core/base/package.ts';
import type { CommandContext, CommandHost } from '../../edges/terminal/command.ts';
import { closeInTime, watchProcess } from '../../edges/terminal/lifecycle.ts';
import type { UiCommand } from './command.ts';
import { openPage } from './open-page.ts';
import type { UiParts } from './parts.ts';
import { serveUi } from './server.ts';

type UiRunOptions = CommandContext & Pick<CommandHost, 'env' | 'isShown' | 'writeOut' | 'writeError'>;

/** Where the build puts the page. */
const PAGE_FOLDER = fileURLToPath(new URL('dist/ui/', PACKAGE_ROOT));

/** Resolves with the exit code. Rejects with `USAGE_INVALID` if it cannot listen on the port. */
export async function runUi({ opensBrowser, port }: UiCommand, parts: UiParts, options: UiRunOptions): Promise<number> {
  const { env, isShown, logger, settings, writeError, writeOut } = options;
  const server = await serveUi({ port, parts, context: options, pageFolder: PAGE_FOLDER });
  writeOut(`${server.address}\n`);
  const { address } = server;
  const opened = opensBrowser && isShown ? await openPage({ address, stateDir: settings.stateDir, env }) : undefined;
  const isOpen = opened?.isOpen === true;
  writeError(`${isOpen ? 'Continue in your browser, or open this address.' : 'Open this address.'} Ctrl+C ends it.\n`);
  const { exitCode } = await watchProcess(logger).ended;
  await closeInTime(async () => {
    await Promise.all([server.close(), opened?.remove()]);
  }, logger);
  return exitCode;
}
