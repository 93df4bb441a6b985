/** What recordings have kept of a cell of the audit log: its output, and the arguments and results of its calls. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type LineOfType, SUFFIX } from './format.ts';
import { readRecording } from './replay.ts';

export interface KeptCell {
  readonly ended: Pick<LineOfType<'cell_ended'>, 'stdout' | 'value' | 'error'> | undefined;
  /** In the order in which they began. */
  readonly calls: readonly Pick<
    LineOfType<'call'>,
    'call' | 'server' | 'tool' | 'arguments' | 'result' | 'error' | 'left_out_bytes'
  >[];
}

/** Of an id in the name of a recording. */
const ID_CHARS = 8;

/** @param id as in the audit log: bridge, session, generation and cell. Undefined if no recording of the folder has it. */
export async function readKeptCell(folder: string, id: string): Promise<KeptCell | undefined> {
  const [bridge = '', session, generation, cell] = id.split('/');
  const end = `-${bridge.slice(0, ID_CHARS)}${SUFFIX}`;
  const names =
    bridge.length < ID_CHARS ? [] : (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(end));
  for (const name of names) {
    // One that is damaged has nothing to show.
    const recording = await readRecording(join(folder, name)).catch(() => undefined);
    const found = recording?.cells.find(
      ({ cell: one }) => one.session === session && String(one.generation) === generation && String(one.cell) === cell,
    );
    if (found !== undefined) {
      return { ended: found.ended, calls: found.calls };
    }
  }
  return undefined;
}
