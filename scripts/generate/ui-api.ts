/** The reference of the API of `ui`, from its schemas. What bridges say is described in that of the local API. */
import { z } from 'zod';
import { ApprovalSchema, BridgeInfoSchema, ServerSchema, SessionSchema } from '../../src/record/local-api/schema.ts';
import {
  CellSchema,
  ConfiguredServerSchema,
  FailureSchema,
  HistorySchema,
  LoginSchema,
  OverviewSchema,
  RunSchema,
  SavedToolSchema,
  SavingsSchema,
  StoredSchema,
  UiEventSchema,
  WrittenRulesSchema,
} from '../../src/record/ui/schema.ts';
import { renderRecords } from './audit-records.ts';
import type { ObjectSchema, PropertySchema } from './json-schemas.ts';
import { renderFields } from './tables.ts';

const ANSWERS: Readonly<Record<string, z.ZodType>> = {
  '`GET /api/servers`: each': ConfiguredServerSchema,
  '`GET /api/cells`': CellSchema,
  '`GET /api/savings`': SavingsSchema,
  '`GET /api/stored/KIND`': StoredSchema,
  '`POST …/run`': RunSchema,
  '`POST …/always`, `POST …/pins/refuse`': WrittenRulesSchema,
  '`POST …/login`': LoginSchema,
  '`POST /api/cells/save-as-tool`': SavedToolSchema,
  'A refused request': FailureSchema,
};

/** Lists whose items are those of the local API, with more fields. */
const PASSED_ON: Readonly<Record<string, z.ZodObject>> = {
  bridges: BridgeInfoSchema,
  sessions: SessionSchema,
  approvals: ApprovalSchema,
  servers: ServerSchema,
};

export function renderUiAnswers(): string {
  const sections = Object.entries(ANSWERS).map(([title, schema]) => renderSection(title, objectOf(schema)));
  return [renderOverview(), ...renderHistory(), ...sections].join('\n\n');
}

/** Only the events that no bridge sends. */
export function renderUiEvents(): string {
  const own = UiEventSchema.options.filter(({ shape }) => shape.type.value.startsWith('bridge_'));
  return own
    .map((option) => {
      const schema = objectOf(option);
      return `### \`${option.shape.type.value}\`\n\n${schema.description}\n\n${renderFields(schema, 'type')}`;
    })
    .join('\n\n');
}

function renderOverview(): string {
  const { properties, required = [] } = objectOf(OverviewSchema);
  const own = Object.entries(properties).map(([name, property]): [string, PropertySchema] => {
    const base = PASSED_ON[name];
    return [name, base === undefined ? property : withoutKnown(property, Object.keys(base.shape))];
  });
  return renderSection('`GET /api/overview`', { properties: Object.fromEntries(own), required });
}

function withoutKnown(property: PropertySchema, known: readonly string[]): PropertySchema {
  const { items = {} } = property;
  const own = Object.entries(items.properties ?? {}).filter(([name]) => !known.includes(name));
  return { ...property, items: { ...items, properties: Object.fromEntries(own) } };
}

function renderHistory(): string[] {
  return [
    renderSection('`GET /api/history`', objectOf(HistorySchema)),
    renderRecords(
      HistorySchema.shape.items.element,
      '### Every item of `GET /api/history`',
      '### An item of kind',
      'kind',
    ),
  ];
}

function renderSection(title: string, { properties, required = [] }: ObjectSchema, tag = 'ok'): string {
  return `### ${title}\n\n${renderFields({ properties, required }, tag)}`;
}

function objectOf(schema: z.ZodType): ObjectSchema {
  return z.toJSONSchema(schema) as unknown as ObjectSchema;
}
