/** The reference of audit log records, from their schemas. */
import { z } from 'zod';
import { AuditRecordSchema } from '../../src/record/history/records.ts';
import type { ObjectSchema } from './json-schemas.ts';
import { renderFieldList } from './tables.ts';

/** The fields of every record, then a section for each type of record with its description and other fields. */
export function renderAuditRecords(): string {
  return renderRecords(AuditRecordSchema, '## Every record', '##');
}

/** The same for any union of objects with a `type`, or another tag. */
export function renderRecords(schema: z.ZodType, title: string, heading: string, tag = 'type'): string {
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
    const own = renderFields(record, (name) => name !== tag && !shared.includes(name) && firstWith(name) === undefined);
    const parts = [`${heading} \`${titleOf(record, tag)}\``, record.description ?? '', own];
    return [
      ...parts,
      ...oneOf.slice(0, index).map((earlier) =>
        renderRepeated(
          titleOf(earlier, tag),
          Object.keys(record.properties).filter(
            (name) => name !== tag && !shared.includes(name) && firstWith(name) === earlier,
          ),
        ),
      ),
    ]
      .filter((part) => part !== '')
      .join('\n\n');
  });
  const head = `${title}\n\n${renderFields(first, (name) => name !== tag && shared.includes(name))}`;
  return [head, ...sections].join('\n\n');
}

function titleOf(record: ObjectSchema, tag: string): string {
  return String(record.properties[tag]?.const);
}

function renderRepeated(earlier: string, names: readonly string[]): string {
  const list = names.map((name) => `\`${name}\``).join(', ');
  return names.length === 0 ? '' : `As in \`${earlier}\`: ${list}.`;
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
  const wanted = Object.entries(record.properties).filter(([name]) => isWanted(name));
  return renderFieldList({ ...record, properties: Object.fromEntries(wanted) });
}
