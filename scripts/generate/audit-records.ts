/** The reference of audit log records, from their schemas. */
import { z } from 'zod';
import { AuditRecordSchema } from '../../src/history/records.ts';
import type { ObjectSchema } from './json-schemas.ts';
import { fieldRows, renderTable } from './tables.ts';

/** The fields of every record, then a section for each type of record with its description and other fields. */
export function renderAuditRecords(): string {
  return renderRecords(AuditRecordSchema, '## Every record', '##');
}

/** The same for any union of objects with a `type`. */
export function renderRecords(schema: z.ZodType, title: string, heading: string): string {
  const { oneOf } = z.toJSONSchema(schema) as unknown as { readonly oneOf: readonly ObjectSchema[] };
  const [first, ...others] = oneOf;
  if (first === undefined) {
    throw new Error('The schema has no records.');
  }
  const shared = Object.keys(first.properties).filter((name) =>
    others.every((record) => isShared(name, first, record)),
  );
  const sections = oneOf.map((record, index) => {
    // A field is described once: later records with the same field refer to the first one that has it.
    const firstWith = (name: string) => oneOf.slice(0, index).find((earlier) => isSameField(name, earlier, record));
    const own = renderFields(record, (name) => !shared.includes(name) && firstWith(name) === undefined);
    const parts = [`${heading} \`${titleOf(record)}\``, record.description ?? '', own];
    return [
      ...parts,
      ...oneOf.slice(0, index).map((earlier) =>
        renderRepeated(
          earlier,
          namesOf(record).filter((name) => !shared.includes(name) && firstWith(name) === earlier),
        ),
      ),
    ]
      .filter((part) => part !== '')
      .join('\n\n');
  });
  const head = `${title}\n\n${renderFields(first, (name) => shared.includes(name))}`;
  return [head, ...sections].join('\n\n');
}

function titleOf(record: ObjectSchema): string {
  return String(record.properties['type']?.const);
}

function namesOf(record: ObjectSchema): string[] {
  return Object.keys(record.properties).filter((name) => name !== 'type');
}

function renderRepeated(earlier: ObjectSchema, names: readonly string[]): string {
  const list = names.map((name) => `\`${name}\``).join(', ');
  return names.length === 0 ? '' : `As in \`${titleOf(earlier)}\`: ${list}.`;
}

/** Whether both records have the field, with the same meaning, and both require it or both do not. */
function isSameField(name: string, one: ObjectSchema, other: ObjectSchema): boolean {
  return (
    one.properties[name] !== undefined &&
    isShared(name, one, other) &&
    one.required?.includes(name) === other.required?.includes(name)
  );
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
      `${type.replace(' >= 0', '')}${required === 'yes' ? '' : ', optional'}`,
      meaning,
    ],
  );
  return rows.length === 0 ? '' : renderTable(['Field', 'Type', 'Meaning'], rows);
}
