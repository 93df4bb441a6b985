/** Where cases run: a warmed-up bridge with a neighbor in it. */
import { type Arena, type ArenaOptions, startArena } from './arena.ts';
import { moveIn, type Neighbour } from './neighbour.ts';

/** A bridge with a neighbor. */
export interface Place {
  readonly arena: Arena;
  readonly neighbour: Neighbour;
  readonly neighbourBeforeMs: number;
}

export async function openPlace(options: ArenaOptions): Promise<Place> {
  const arena = await startArena(options);
  const neighbour = await moveIn(arena);
  await warmUp(arena);
  const { medianMs } = await neighbour.start().stop();
  return { arena, neighbour, neighbourBeforeMs: medianMs };
}

/** Modules that load once, and memory that V8 takes for its first heavy work, must not count as growth of the first case. */
async function warmUp({ bridge }: Arena): Promise<void> {
  const code = 'await mcp_echo.echo(text="x" * 4_000_000)\nfor _ in range(500): print("x" * 100_000)\n1 / 0';
  await bridge.runPython(code, { session: 'warm-up', servers: ['echo', 'ledger'], timeout: 60 });
  await bridge.runPython('runtime.reset()', { session: 'warm-up', timeout: 60 });
}
