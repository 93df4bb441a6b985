/** The calls that cells made, read from the audit log of the bridge (docs/audit.md). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What is read of a record here. */
type AuditRecord =
  | { readonly type: 'cell_started'; readonly id: string; readonly code: string }
  | { readonly type: 'call'; readonly cell: string; readonly server: string; readonly tool: string }
  | { readonly type: 'cell_ended' };

/** The calls of each cell as `server.tool`, in the order in which they ended, by the code of the cell. */
export function readCalls(stateDir: string): ReadonlyMap<string, readonly string[]> {
  const folder = join(stateDir, 'audit');
  const records = readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AuditRecord);
  const cells = records.filter((record) => record.type === 'cell_started');
  const calls = records.filter((record) => record.type === 'call');
  return new Map(
    cells.map(({ id, code }) => [
      code,
      calls.filter(({ cell }) => cell === id).map(({ server, tool }) => `${server}.${tool}`),
    ]),
  );
}
