/** Generates values that match a zod schema from its JSON Schema, so a new frame is fuzzed without a change here. */
import * as fc from 'fast-check';
import { z } from 'zod';
import { anyJson, anyNumber, anyText } from './fuzzing.ts';

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | false;
  readonly items?: Schema;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly contentEncoding?: string;
}

/** Values that `schema` accepts unchanged. Throws for a kind of schema that no frame uses yet. */
export function arbitraryOf<Type extends z.ZodType>(schema: Type): fc.Arbitrary<z.output<Type>> {
  return fromJsonSchema(z.toJSONSchema(schema) as Schema) as fc.Arbitrary<z.output<Type>>;
}

function fromJsonSchema(schema: Schema): fc.Arbitrary<unknown> {
  if ('const' in schema) {
    return fc.constant(schema.const);
  }
  if (schema.enum !== undefined) {
    return fc.constantFrom(...schema.enum);
  }
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) {
    return fc.oneof(...choices.map(fromJsonSchema));
  }
  switch (schema.type) {
    case 'object':
      return objects(schema);
    case 'array':
      return fc.array(fromJsonSchema(schema.items ?? {}), { maxLength: 4 });
    case 'string':
      return texts(schema);
    case 'integer':
      return fc.integer({ min: (schema.exclusiveMinimum ?? (schema.minimum ?? 0) - 1) + 1, max: schema.maximum ?? 0 });
    case 'number':
      return anyNumber;
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case undefined:
      return anyJson;
    default:
      throw new Error(`no values for a schema of type ${schema.type}`);
  }
}

function objects({ properties = {}, required = [], additionalProperties }: Schema): fc.Arbitrary<unknown> {
  if (additionalProperties !== false && Object.keys(properties).length === 0) {
    // zod leaves `__proto__` out of records.
    const keys = anyText.filter((key) => key !== '__proto__');
    return fc
      .array(fc.tuple(keys, fromJsonSchema(additionalProperties ?? {})), { maxLength: 4 })
      .map((members) => Object.fromEntries(members));
  }
  const members = Object.entries(properties).map(([name, member]) => [name, fromJsonSchema(member)] as const);
  return fc.record(Object.fromEntries(members), { requiredKeys: [...required], noNullPrototype: true });
}

function texts({ contentEncoding, maxLength, pattern }: Schema): fc.Arbitrary<string> {
  if (contentEncoding === 'base64') {
    return fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('base64'));
  }
  if (pattern !== undefined) {
    return fc.stringMatching(new RegExp(pattern));
  }
  return maxLength === undefined ? anyText : anyText.filter((text) => text.length <= maxLength);
}
