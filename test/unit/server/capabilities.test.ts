import { readdirSync, readFileSync } from 'node:fs';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { CAPABILITY_SUMMARY, capabilityResource, packagesSummary } from '../../../src/front/server/capabilities.ts';
import { describeRunPython } from '../../../src/front/server/tool-definition.ts';

const MAX_SUMMARY_TOKENS = 600;
const kernel = new URL('../../../sandbox-runtime/bridge_kernel/', import.meta.url);

test('the manual is short enough for a conversation', () => {
  expect(encode(CAPABILITY_SUMMARY).length).toBeLessThanOrEqual(MAX_SUMMARY_TOKENS);
});

test('the resource has the same manual, a checklist, and the engine', () => {
  const text = capabilityResource('Sessions run on podman: a container.');
  expect(text.startsWith(CAPABILITY_SUMMARY)).toBe(true);
  expect(text.slice(CAPABILITY_SUMMARY.length)).toContain('checklist');
  expect(text).toMatch(/## Engine\n\nSessions run on podman: a container\.\n$/);
  expect(capabilityResource(undefined)).toMatch(/## Engine\n\nNot chosen yet: /);
});

test('the texts for all engines promise nothing that only some have', () => {
  expect(CAPABILITY_SUMMARY).not.toMatch(/!ls|the image|runtime\.run\(/);
  expect(packagesSummary(true)).not.toContain('pandas');
});

test('every helper in the texts exists in the sandbox', () => {
  const texts = capabilityResource(undefined) + describeRunPython(30, 120).description;
  const named = new Set([...texts.matchAll(/\bruntime\.(\w+)\(/g)].map((match) => String(match[1])));
  expect(named.size).toBeGreaterThan(5);
  const sources = readdirSync(kernel).filter((file) => file.endsWith('.py'));
  const python = sources.map((file) => readFileSync(new URL(file, kernel), 'utf8')).join('\n');
  expect([...named].filter((name) => !python.includes(`    def ${name}(self`))).toEqual([]);
});
