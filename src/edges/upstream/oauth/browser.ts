/** Opens an address in the user's browser. The address is passed to a program as one argument, never to a shell. */
import { spawn } from 'node:child_process';
import { systemProgram } from '../../../core/base/windows.ts';

export interface BrowserCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** The command that opens `url`; undefined without a display. Pure. */
export function browserCommand(
  url: string,
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>,
): BrowserCommand | undefined {
  switch (platform) {
    case 'darwin':
      return { command: 'open', args: [url] };
    case 'win32':
      return { command: systemProgram('rundll32.exe', env), args: ['url.dll,FileProtocolHandler', url] };
    default: {
      const hasDisplay = (env['DISPLAY'] ?? env['WAYLAND_DISPLAY'] ?? '') !== '';
      return hasDisplay ? { command: 'xdg-open', args: [url] } : undefined;
    }
  }
}

/** Resolves with whether the program could be started. Whether it opens the page is not known. */
export async function openBrowser({ command, args }: BrowserCommand): Promise<boolean> {
  const child = spawn(command, args, { stdio: 'ignore', detached: true, windowsHide: true });
  return new Promise((resolve) => {
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
    child.once('error', () => resolve(false));
  });
}
