/** Which calls a piece of code holds: the kernel reads it, in a sandbox, because Python's own parser is there. */
import { z } from 'zod';
import { BridgeError } from '../base/errors.ts';
import type { ConfiguredServers } from '../directory/configured-servers.ts';
import { summarizeCellError } from '../render/cell-error.ts';
import type { CommandContext } from '../terminal/command.ts';

/** Chosen: reading 1 MiB of code takes a few seconds. */
const READ_TIMEOUT_MS = 60_000;

const StaticCallsSchema = z.object({
  calls: z.array(
    z.object({
      line: z.number(),
      server: z.string(),
      tool: z.string(),
      arguments: z.record(z.string(), z.unknown()).nullable(),
    }),
  ),
  /** What may call more, one clause each. */
  unknown: z.array(z.string()),
});

export type StaticCalls = z.infer<typeof StaticCallsSchema>;

/** Runs none of the code. Rejects with `USAGE_INVALID` for what is no Python, and as a cell does without an engine. */
export async function readCalls(
  code: string,
  configured: Pick<ConfiguredServers, 'known'>,
  { createBridge }: Pick<CommandContext, 'createBridge'>,
): Promise<StaticCalls> {
  const bridge = await createBridge();
  try {
    const { status, stdout, error } = await bridge.runCell({
      code: program(code),
      servers: configured.known.servers().map(({ name }) => name),
      timeoutMs: READ_TIMEOUT_MS,
      session: 'policy-check',
    });
    if (status !== 'success') {
      throw new BridgeError(
        'USAGE_INVALID',
        `The code cannot be read: ${(error && summarizeCellError(error)) ?? status}`,
      );
    }
    return StaticCallsSchema.parse(JSON.parse(stdout.head));
  } finally {
    await bridge.close();
  }
}

/** A JSON text is a literal of Python too. */
function program(code: string): string {
  return `from bridge_kernel.static_calls import calls_of as _calls_of
print(_calls_of(${JSON.stringify(code)}, runtime))`;
}
