/** What Python can do on some engines and not on others, and how a test says so. */
import { it } from 'vitest';

export type Capability = 'threads' | 'child processes' | 'ctypes' | 'ssl' | 'code packs' | 'interrupts of loops in C';

/** What the embedded engine cannot do; it needs no code packs. */
export const EMBEDDED_LACKS: readonly Capability[] = [
  'threads',
  'child processes',
  'ctypes',
  'ssl',
  'code packs',
  'interrupts of loops in C',
];

/** `it`, or a skipped test that names what the engine lacks. */
export type ItNeeds = (capability: Capability) => (title: string, run: () => Promise<void>) => void;

/** `itNeeds` of an engine that lacks these. */
export function createItNeeds(engineName: string, lacks: readonly Capability[]): ItNeeds {
  return (capability) => {
    const skip: ReturnType<ItNeeds> = (title, run) => {
      it.skip(`not covered: ${engineName} has no ${capability}: ${title}`, run);
    };
    return lacks.includes(capability) ? skip : it;
  };
}
