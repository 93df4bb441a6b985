/** The cells that clients send, how often, and what their answers must contain. */

interface Kind {
  /** Of all cells. Chosen: most cells of an agent are short; a few print a lot or draw. */
  readonly share: number;
  readonly code: string;
}

export const KIND_NAMES = ['small', 'calls', 'output', 'plot'] as const;
export type KindName = (typeof KIND_NAMES)[number];

/** The server that cells call; from npm, over stdio, a process for each principal. */
export const SERVER = 'everything';

export const KINDS: Readonly<Record<KindName, Kind>> = {
  small: { share: 0.7, code: 'total = sum(range(1_000))' },
  calls: {
    share: 0.15,
    code: [
      'import asyncio',
      `said = await asyncio.gather(*[mcp_${SERVER}.echo(message=f"{count} {n}") for n in range(5)])`,
      'assert [str(one).endswith(f"{count} {n}") for n, one in enumerate(said)] == [True] * 5, said',
    ].join('\n'),
  },
  output: { share: 0.1, code: 'for _ in range(1_024): print("x" * 1_023)' },
  plot: {
    share: 0.05,
    // Drawn with what every Python has: a curve of 320 × 240 pixels as a PNG.
    code: [
      'import math, struct, zlib',
      'def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))',
      'rows = [bytearray(b"\\xff" * 960) for _ in range(240)]',
      'for x in range(320): rows[int(120 - 100 * math.sin((x + count) / 25))][3 * x : 3 * x + 3] = b"\\xd0\\x20\\x20"',
      'lines = b"".join(b"\\0" + row for row in rows)',
      'header = struct.pack(">IIBBBBB", 320, 240, 8, 2, 0, 0, 0)',
      'display(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))',
    ].join('\n'),
  },
};

/** @param at a number from 0 up to 1, chosen at random. */
export function kindAt(at: number): KindName {
  let below = 0;
  for (const name of KIND_NAMES) {
    below += KINDS[name].share;
    if (at < below) {
      return name;
    }
  }
  return 'small';
}

/** The first cell of a session: what belongs to it alone. */
export function firstCell(secret: string): string {
  return `secret = ${JSON.stringify(secret)}\ncount = 0\nprint("ready")`;
}

/** A later cell: its work, then its check. It fails if the session has lost its variables. */
export function cellOf(kind: KindName): string {
  return `${KINDS[kind].code}\ncount += 1\nprint("ok", count, secret)`;
}

const CHECK = /^ok (\d+) (\S+)$/m;
const RESTORED = /\bRestored \d+ variable/;

/** What the check of a cell has printed; undefined if the cell failed. */
export function readCheck(text: string): { readonly count: number; readonly secret: string } | undefined {
  const [, count, secret] = CHECK.exec(text) ?? [];
  return count === undefined || secret === undefined ? undefined : { count: Number(count), secret };
}

/** Whether the cell did not run because every sandbox was busy. */
export function isRefused(text: string): boolean {
  return /^SESSION_LIMIT: /m.test(text);
}

/** Whether the session was continued from a checkpoint, which its first answer says. */
export function isRestored(text: string): boolean {
  return RESTORED.test(text);
}
