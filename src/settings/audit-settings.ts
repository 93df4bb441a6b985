/** The settings of the audit log, a part of the table in settings.ts. */
import { z } from 'zod';
import { parseSizeBytes } from '../base/units.ts';

/** A day of work with code of usual length. Chosen. */
const MIN_BYTES = 1024 ** 2;
/** Ten years. */
const MAX_DAYS = 3_650;

export const AUDIT_SETTINGS = {
  audit: {
    variable: 'MCP_BRIDGE_AUDIT',
    default: '1',
    meaning:
      'Whether a record of cells and calls is kept in the folder `audit` of the state directory. With `required`, a cell that cannot be recorded is not run.',
    allowed: '0, 1 or required',
    schema: z
      .string()
      .toLowerCase()
      .pipe(z.enum(['0', '1', 'required'])),
  },
  auditMaxBytes: {
    variable: 'MCP_BRIDGE_AUDIT_MAX_SIZE',
    default: '256m',
    meaning: 'Size of all files of the audit log; the oldest are removed when they are larger.',
    allowed: 'a size of at least 1m, such as 256m or 2g',
    schema: z.string().transform(parseSizeBytes).pipe(z.int().min(MIN_BYTES)),
  },
  auditMaxAgeDays: {
    variable: 'MCP_BRIDGE_AUDIT_DAYS',
    default: '90',
    meaning: 'Days that files of the audit log are kept.',
    allowed: `a whole number from 1 to ${MAX_DAYS}`,
    schema: z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(1).max(MAX_DAYS)),
  },
} as const;
