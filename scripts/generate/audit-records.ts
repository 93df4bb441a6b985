/** The lines of the audit log, from their schemas. */
import { z } from 'zod';
import { AuditRecordSchema } from '../../src/audit/records.ts';
import type { ObjectSchema } from './frame-schema.ts';
import { renderFields } from './tables.ts';

/** One section per type of line: what it is, and its fields. */
export function renderAuditRecords(): string {
  const { oneOf } = z.toJSONSchema(AuditRecordSchema) as unknown as { readonly oneOf: readonly ObjectSchema[] };
  return oneOf
    .map((record) => {
      return `### \`${record.properties['type']?.const}\`\n\n${record.description}\n\n${renderFields(record, 'type')}`;
    })
    .join('\n\n');
}
