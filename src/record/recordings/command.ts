/** `history recording`: what `MCP_BRIDGE_RECORD` has recorded. Also as `record show`, as it was called before. */
import { action, argument, json, type LineOf, type Single } from '../../edges/terminal/define.ts';

export const RECORD = {
  command: 'record',
  places: [
    ['history', 'recording'],
    ['record', 'show'],
  ],
  action: () =>
    action(
      'Show the cells of a recording of MCP_BRIDGE_RECORD with their calls, results and times.',
      {
        path: argument('[file]', 'the recording; by default the newest in the folder that MCP_BRIDGE_RECORD names'),
        isJson: json(),
      },
      {
        notes:
          '--json prints one object per line for each cell, with its calls as recorded, then one for each call of a background job.',
      },
    ),
} as const satisfies Single;

export type RecordCommand = LineOf<typeof RECORD>;
