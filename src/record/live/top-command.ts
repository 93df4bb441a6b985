/** `sessions top`: what all bridges of the state directory do now. Also as `top`, as it was called before. */
import { action, flag, json, type LineOf, type Single } from '../../edges/terminal/define.ts';

export const TOP = {
  command: 'top',
  places: [['sessions', 'top'], ['top']],
  action: () =>
    action(
      'Show the sessions of all running bridges of this state directory, with the cells and calls that run now. In a terminal, the view is renewed every second.',
      { isOnce: flag('--once', 'print it once'), isJson: json() },
      {
        summary: 'show what running bridges do',
        notes:
          'Keys: up and down choose a session, i interrupts its cell (variables are kept), e ends its sandbox, h saves it and ends its sandbox, q quits. ' +
          'Without a terminal, and with --json, it is printed once.',
      },
    ),
} as const satisfies Single;

export type TopCommand = LineOf<typeof TOP>;
