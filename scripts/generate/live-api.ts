/** The reference of the local API, from its schemas. */
import { z } from 'zod';
import {
  ApprovalSchema,
  BridgeInfoSchema,
  EventSchema,
  ServerSchema,
  SessionSchema,
} from '../../src/record/local-api/schema.ts';
import { renderRecords } from './audit-records.ts';
import type { ObjectSchema } from './json-schemas.ts';
import { renderFields } from './tables.ts';

const ANSWERS: Readonly<Record<string, z.ZodType>> = {
  'A bridge': BridgeInfoSchema,
  'A session': SessionSchema,
  'A server': ServerSchema,
  'A question': ApprovalSchema,
};

export function renderLiveAnswers(): string {
  return Object.entries(ANSWERS)
    .map(([title, schema]) => {
      const { properties, required = [] } = z.toJSONSchema(schema) as unknown as ObjectSchema;
      return `## ${title}\n\n${renderFields({ properties, required }, '')}`;
    })
    .join('\n\n');
}

export function renderLiveEvents(): string {
  return renderRecords(EventSchema, '### Every event', '###');
}
