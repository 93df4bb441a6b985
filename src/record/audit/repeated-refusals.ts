/**
 * Counts the refused calls of a cell beyond the first ones, so that a flood of them takes little space in the record. A call
 * that reached a server is never counted here: each of those has a record of its own.
 */

interface RefusedCall {
  readonly session: string;
  readonly server: string;
  readonly tool: string;
  readonly errorCode?: string | undefined;
  readonly startedAt: number;
}

/** Refused calls of a cell that have a record each. Chosen: all of an honest cell. */
const MAX_RECORDED = 100;
/** Different refusals that are counted apart; code may invent any number of names. Chosen. */
const MAX_GROUPS = 100;

/** Refused calls of one cell that have no record of their own. */
export interface RefusedCalls {
  readonly cell: string;
  readonly session: string;
  /** Undefined if they differ. */
  readonly what: { readonly server: string; readonly tool: string } | undefined;
  readonly errorCode: string;
  /** When the first was made, in milliseconds since 1970. */
  readonly startedAt: number;
  calls: number;
}

interface Cell {
  recorded: number;
  groups: Map<string, RefusedCalls>;
}

export class RepeatedRefusals {
  readonly #cells = new Map<string, Cell>();

  /** Whether the refused call gets a record of its own. */
  isRecorded(cell: string, call: RefusedCall): boolean {
    const known = this.#cells.get(cell) ?? { recorded: 0, groups: new Map<string, RefusedCalls>() };
    this.#cells.set(cell, known);
    if (known.recorded < MAX_RECORDED) {
      known.recorded += 1;
      return true;
    }
    const { server, tool, session, startedAt, errorCode = '' } = call;
    const exact = JSON.stringify([errorCode, server, tool]);
    const isApart = known.groups.has(exact) || known.groups.size < MAX_GROUPS;
    const key = isApart ? exact : errorCode;
    const what = isApart ? { server, tool } : undefined;
    const group = known.groups.get(key) ?? { cell, session, what, errorCode, startedAt, calls: 0 };
    known.groups.set(key, group);
    group.calls += 1;
    return false;
  }

  /** The counts of a cell, or of all cells, since the last call. */
  take(cell?: string): RefusedCalls[] {
    const cells = cell === undefined ? [...this.#cells.values()] : [this.#cells.get(cell)];
    return cells.flatMap((known) => {
      const groups = [...(known?.groups.values() ?? [])];
      known?.groups.clear();
      return groups;
    });
  }

  /** Forgets a cell, or all cells of a sandbox. */
  forget(id: string): void {
    const isPart = (cell: string): boolean => cell === id || cell.startsWith(`${id}/`);
    [...this.#cells.keys()].filter(isPart).forEach((cell) => this.#cells.delete(cell));
  }
}
