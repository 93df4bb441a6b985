/** The samples that the page is tested with are what the API answers. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  CellSchema,
  ConfiguredServerSchema,
  HistorySchema,
  OverviewSchema,
  SavingsSchema,
  STORED_KINDS,
  StoredSchema,
} from '../../../../src/record/ui/schema.ts';
import { uiSamples } from '../../../support/ui-samples.ts';

const samples = uiSamples(Date.parse('2026-11-27T10:00:00Z'));

it.each([
  ['overview', OverviewSchema],
  ['servers', z.array(ConfiguredServerSchema)],
  ['history', HistorySchema],
  ['cell', CellSchema],
  ['savings', SavingsSchema],
] as const)('%s', (name, schema) => {
  expect(schema.safeParse(samples[name]).error).toBeUndefined();
});

it.each(STORED_KINDS)('stored %s', (kind) => {
  expect(StoredSchema.safeParse({ items: samples.stored[kind] }).error).toBeUndefined();
});
