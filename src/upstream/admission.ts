/** Shows each connection the tools of its server, where calls need to know of them (see `ServerConnection.admitTools`). */
import type { ServerConnection } from './connection.ts';
import type { ToolList } from './tool-list.ts';

type ListedTools = Pick<ToolList, 'tools' | 'notices'>;

export class Admission {
  readonly #informed = new WeakSet<ServerConnection>();

  /** The tools of a list that may be called on `open`, which takes note of them, and all notices. */
  admit(open: ServerConnection, { tools, notices }: ListedTools): ListedTools {
    this.#informed.add(open);
    const admitted = open.admitTools?.(tools) ?? { tools, notices: [] };
    return { tools: admitted.tools, notices: [...notices, ...admitted.notices] };
  }

  /** Whether calls on `open` need to know of the tools, and it has seen no list yet. */
  isNeeded(open: ServerConnection): boolean {
    return open.admitTools !== undefined && !this.#informed.has(open);
  }
}
