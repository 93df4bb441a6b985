/** What one setting is made of, and the checks that several share. */
import { z } from 'zod';

/** One environment variable. */
export interface SettingDefinition {
  readonly variable: string;
  /** As a user would write it; undefined when there is none. */
  readonly default?: string;
  readonly meaning: string;
  readonly allowed: string;
  /** Takes the text of the variable. */
  readonly schema: z.ZodType;
}

/** One of `names`, in any case. */
export const oneOf = <const Names extends readonly string[]>(names: Names) =>
  z.string().toLowerCase().pipe(z.enum(names));

/** A switch. */
export const onOrOff = z
  .string()
  .toLowerCase()
  .pipe(z.enum(['0', '1', 'false', 'true']))
  .transform((text) => text === '1' || text === 'true');
