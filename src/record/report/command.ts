/** `history report`: sums of the audit log, for people who answer for what agents do. Also as `report`, as it was called before. */
import {
  action,
  json,
  type LineOf,
  option,
  POINT_IN_TIME,
  pointInTime,
  type Single,
} from '../../edges/terminal/define.ts';

const DEFAULT_SINCE = '7d';

export const REPORT = {
  command: 'report',
  places: [['history', 'report'], ['report']],
  action: () =>
    action(
      'Sum up the audit log: cells and calls per day, server and tool, failures, durations, approvals, and the tokens saved.',
      {
        sinceMs: option(
          '--since <time>',
          `${POINT_IN_TIME} (default: ${DEFAULT_SINCE})`,
          pointInTime,
          pointInTime(DEFAULT_SINCE),
        ),
        html: option(
          '--html <file>',
          'write a page with charts to this file, which needs no other file and no network',
        ),
        isJson: json(),
      },
      {
        summary: 'sum up what agents did, and what it saved',
        notes:
          'Exit code: 1 if there is nothing to report. Days are in UTC. The page contains the first lines of slow cells, and only you can read the file.',
      },
    ),
} as const satisfies Single;

export type ReportCommand = LineOf<typeof REPORT>;
