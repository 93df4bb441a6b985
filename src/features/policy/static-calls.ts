/** Which calls a piece of code contains. The kernel analyzes it in a sandbox, because Python's own parser is there. */
import { z } from 'zod';
import { DEFAULT_SESSION } from '../../core/base/cell.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { summarizeCellError } from '../../core/render/cell-error.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';

/** Chosen: analyzing 1 MiB of code takes a few seconds. */
const ANALYSIS_TIMEOUT_MS = 60_000;

const StaticCallsSchema = z.object({
  calls: z.array(
    z.object({
      line: z.number(),
      server: z.string(),
      tool: z.string(),
      arguments: z.record(z.string(), z.unknown()).nullable(),
    }),
  ),
  /** Places that may make further calls, one clause each. */
  unknown: z.array(z.string()),
});

export type StaticCalls = z.infer<typeof StaticCallsSchema>;

/** Runs none of the code. Rejects with `USAGE_INVALID` if it is not Python, and with a cell's errors if no engine works. */
export async function findCalls(
  code: string,
  configured: Pick<ConfiguredServers, 'known'>,
  { createBridge }: Pick<CommandContext, 'createBridge'>,
): Promise<StaticCalls> {
  const bridge = await createBridge();
  try {
    const { status, stdout, error } = await bridge.runCell({
      code: program(code),
      servers: configured.known.servers().map(({ name }) => name),
      timeoutMs: ANALYSIS_TIMEOUT_MS,
      session: DEFAULT_SESSION,
    });
    if (status !== 'success') {
      throw new BridgeError(
        'USAGE_INVALID',
        `The code cannot be checked: ${(error && summarizeCellError(error)) ?? status}`,
      );
    }
    const read = readUntrusted(stdout.head, JSON_BOUNDS.frame);
    return StaticCallsSchema.parse(read.ok ? read.value : undefined);
  } finally {
    await bridge.close();
  }
}

/** A JSON string is also a Python string literal. */
function program(code: string): string {
  return `from bridge_kernel.static_calls import calls_of as _calls_of
print(_calls_of(${JSON.stringify(code)}, runtime))`;
}
