import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { CAPABILITY_RESOURCE_TEXT, CAPABILITY_SUMMARY } from '../../../src/server/capabilities.ts';

const MAX_SUMMARY_TOKENS = 600;

test('the manual is short enough to be read in a conversation', () => {
  expect(encode(CAPABILITY_SUMMARY).length).toBeLessThanOrEqual(MAX_SUMMARY_TOKENS);
});

test('the resource is the same manual and a checklist', () => {
  expect(CAPABILITY_RESOURCE_TEXT.startsWith(CAPABILITY_SUMMARY)).toBe(true);
  expect(CAPABILITY_RESOURCE_TEXT.slice(CAPABILITY_SUMMARY.length)).toContain('checklist');
});
