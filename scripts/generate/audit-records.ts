/** The reference of audit log records, from their schemas. */
import { z } from 'zod';
import { AuditRecordSchema } from '../../src/audit/records.ts';
import type { ObjectSchema } from './json-schemas.ts';
import { fieldRows, renderTable } from './tables.ts';

/** The fields of every record, then a section for each type of record with its description and other fields. */
export function renderAuditRecords(): string {
  const { oneOf } = z.toJSONSchema(AuditRecordSchema) as unknown as { readonly oneOf: readonly ObjectSchema[] };
  const [first, ...others] = oneOf;
  if (first === undefined) {
    throw new Error('The schema of the audit log has no records.');
  }
  const shared = Object.keys(first.properties).filter((name) =>
    others.every((record) => isShared(name, first, record)),
  );
  const sections = oneOf.map((record) => {
    const own = renderFields(record, (name) => !shared.includes(name));
    return `## \`${record.properties['type']?.const}\`\n\n${record.description}\n\n${own}`;
  });
  const head = `## Every record\n\n${renderFields(first, (name) => shared.includes(name))}`;
  return [head, ...sections].join('\n\n');
}

/** Whether both records have the field, with the same meaning. */
function isShared(name: string, one: ObjectSchema, other: ObjectSchema): boolean {
  return JSON.stringify(one.properties[name]) === JSON.stringify(other.properties[name]);
}

function renderFields(record: ObjectSchema, isWanted: (name: string) => boolean): string {
  const wanted = Object.entries(record.properties).filter(([name]) => name !== 'type' && isWanted(name));
  const rows = fieldRows({ ...record, properties: Object.fromEntries(wanted) }, '').map(
    ([name = '', type = '', required, meaning = '']) => [
      name,
      required === 'yes' ? type : `${type}, optional`,
      meaning,
    ],
  );
  return renderTable(['Field', 'Type', 'Meaning'], rows);
}
