/** What a search can be limited to. Apart from the rest, because the command line loads it at every start. */
import { CELL_STATUSES } from '../../core/base/cell.ts';

export const KINDS = ['cell', 'call', 'event'] as const;
/** An event is any record that is not of a cell that ran, or of a call. */
export type HistoryKind = (typeof KINDS)[number];

/** Statuses of cells, calls, programs and events, and `failed` for all that are no success. */
export const STATUSES = [...CELL_STATUSES, 'ok', 'refused', 'running', 'started', 'dry_run', 'lost', 'failed'] as const;
