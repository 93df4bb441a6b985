/** Shows each connection the tools of its server, where calls need to know of them (see `Connection.admitTools`). */
import type { Connection } from './connection.ts';
import type { ToolList } from './tool-list.ts';

type ListedTools = Pick<ToolList, 'tools' | 'notices'>;

export class Admission {
  readonly #informed = new WeakSet<Connection>();

  /** The tools of a list that may be called on `open`, which takes note of them, and all notices. */
  admit(open: Connection, { tools, notices }: ListedTools): ListedTools {
    this.#informed.add(open);
    const admitted = open.admitTools?.(tools) ?? { tools, notices: [] };
    return { tools: admitted.tools, notices: [...notices, ...admitted.notices] };
  }

  /** Before a call: a connection that has seen no list yet is shown that of `describe`. Undefined when there is nothing to do. */
  prepare(open: Connection, describe: () => Promise<ListedTools>): Promise<unknown> | undefined {
    return open.admitTools === undefined || this.#informed.has(open)
      ? undefined
      : describe().then((list) => this.admit(open, list));
  }
}
