/** What Python can do on some engines only, and tests that depend on it. */
import { it } from 'vitest';

export type Capability =
  | 'threads'
  | 'child processes'
  | 'shared memory'
  | 'ctypes'
  | 'code packs'
  | 'interrupts of loops in C';

/** What the embedded engine lacks. It needs no code packs. */
export const EMBEDDED_LACKS: readonly Capability[] = [
  'threads',
  'child processes',
  'shared memory',
  'ctypes',
  'code packs',
  'interrupts of loops in C',
];

/** `it`, or a skipped test that names what the engine lacks. */
export type ItNeeds = (capability: Capability) => (title: string, run: () => Promise<void>) => void;

/** Makes the `itNeeds` of an engine that lacks these capabilities. */
export function createItNeeds(engineName: string, lacks: readonly Capability[]): ItNeeds {
  return (capability) => {
    const skip: ReturnType<ItNeeds> = (title, run) => {
      it.skip(`not covered: ${engineName} has no ${capability}: ${title}`, run);
    };
    return lacks.includes(capability) ? skip : it;
  };
}
