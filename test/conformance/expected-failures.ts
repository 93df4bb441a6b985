/** Reads expected-failures.yml, the table of expected results. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const Reason = z.string().min(20);

const ExpectedFailuresSchema = z.strictObject({
  /** By role and revision: how many scenarios the suite has, and how many of their checks pass. */
  runs: z.record(z.string(), z.strictObject({ scenarios: z.int(), passed: z.int() })),
  failures: z.array(
    z.strictObject({
      reason: Reason,
      role: z.enum(['server', 'client']),
      /** Every revision that has the scenario, by default. */
      revisions: z.array(z.string()).optional(),
      /** Names of checks by scenario. A check whose id is not unique within its scenario is named `ID/NAME`. */
      checks: z.record(z.string(), z.array(z.string()).min(1)),
    }),
  ),
  /** Scenarios in which the client must exit with an error. */
  clientErrors: z.strictObject({ reason: Reason, scenarios: z.array(z.string()) }),
});

export type ExpectedFailures = z.infer<typeof ExpectedFailuresSchema>;

export function readExpectedFailures(
  text = readFileSync(new URL('expected-failures.yml', import.meta.url), 'utf8'),
): ExpectedFailures {
  return ExpectedFailuresSchema.parse(parse(text));
}
