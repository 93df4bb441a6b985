/** `doctor`: what works, what does not, and what to do about it. */
import { action, flag, json, type LineOf, type Single, unless } from '../../edges/terminal/define.ts';

export const DOCTOR = {
  command: 'doctor',
  action: () =>
    action(
      'Check the machine, the engines, every server and the clients, and show a fix for each problem. Starts an empty session, and pulls the image for it as the first cell would; starts every server.',
      {
        isFix: flag(
          '--fix',
          'remove sandboxes that ended bridges left behind, pull the image on every engine that lacks it, fix permissions of the state directory',
        ),
        isStartingServers: unless('--no-servers', 'do not start servers'),
        isJson: json(),
      },
      {
        summary: 'find problems and show how to fix them',
        notes: 'Exit code: 0 without problems (warnings may remain), 69 if no cell can run, 1 for any other problem.',
      },
    ),
} as const satisfies Single;

export type DoctorCommand = LineOf<typeof DOCTOR>;
