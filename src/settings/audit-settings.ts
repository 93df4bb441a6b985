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
      'Whether cells and calls are recorded in the audit log. With `required`, a cell that cannot be recorded is not run.',
    allowed: '0, 1 or required',
    schema: z
      .string()
      .toLowerCase()
      .pipe(z.enum(['0', '1', 'required'])),
  },
  auditMaxBytes: {
    variable: 'MCP_BRIDGE_AUDIT_MAX_SIZE',
    default: '256m',
    meaning: 'Total size of the audit log; beyond it the oldest files are removed.',
    allowed: 'a size of at least 1m, such as 256m or 2g',
    schema: z.string().transform(parseSizeBytes).pipe(z.int().min(MIN_BYTES)),
  },
  auditMaxAgeDays: {
    variable: 'MCP_BRIDGE_AUDIT_DAYS',
    default: '90',
    meaning: 'Days that the audit log is kept.',
    allowed: `a whole number from 1 to ${MAX_DAYS}`,
    schema: z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(1).max(MAX_DAYS)),
  },
} as const;
