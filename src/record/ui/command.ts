/** `ui`: serves a page that shows what agents do. */
import { action, type LineOf, option, type Single, unless, wholeNumber } from '../../edges/terminal/define.ts';

const MAX_PORT = 65_535;

export const UI = {
  command: 'ui',
  action: () =>
    action(
      'Serve a page for you alone, on this machine: what runs now, questions that wait, the audit log, servers, savings, and what is stored.',
      {
        port: option(
          '--port <number>',
          'port of 127.0.0.1 (default: any that is free)',
          wholeNumber('a port', 0, MAX_PORT),
          0,
        ),
        opensBrowser: unless('--no-open', 'only print the address, and open no browser'),
      },
      {
        summary: 'show what agents do, on a page in the browser',
        notes:
          'Whoever has the address can do what you can do there, so do not pass it on. It is valid until the command ends, with Ctrl+C.',
      },
    ),
} as const satisfies Single;

export type UiCommand = LineOf<typeof UI>;
