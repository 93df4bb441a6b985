/** Which calls of a dry run are sent, and what takes the place of the others. */
import { expect, it, vi } from 'vitest';
import { type CellAnswer, NO_OUTPUT } from '../../../src/core/base/cell.ts';
import {
  type CalledTool,
  type CallOutcome,
  type PassOn,
  succeeded,
  type ToolCall,
} from '../../../src/core/calls/contract.ts';
import { parseExact } from '../../../src/core/protocol/exact-json.ts';
import { DryRun, markDryRun } from '../../../src/features/dry-run/index.ts';
import { standInFor } from '../../../src/features/dry-run/stand-in.ts';

const WRITE: CalledTool = { name: 'write', alias: 'write', inputSchema: {} };
const READ: CalledTool = { ...WRITE, name: 'read', annotations: { readOnlyHint: true } };

function callOf(tool: CalledTool, given: Record<string, unknown> = {}): ToolCall {
  const context = {
    session: 'default',
    generation: 1,
    cell: 1,
    call: 1,
    loaded: new Set<string>(),
    signal: new AbortController().signal,
  };
  return { server: { name: 'files', alias: 'files', description: '' }, tool, arguments: given, context };
}

function answerOf(changes: Partial<CellAnswer> = {}): CellAnswer {
  const none = {
    stdout: NO_OUTPUT,
    stderr: NO_OUTPUT,
    servers: [],
    session: 'default',
    timeoutSeconds: 1,
    notices: [],
  };
  return { status: 'success', ...none, ...changes };
}

/** A call through both gates; tells whether it was sent. */
async function make(dryRun: DryRun, call: ToolCall): Promise<CallOutcome & { readonly wasSent: boolean }> {
  const send = vi.fn<PassOn>(async () => succeeded('sent'));
  const outcome = await markDryRun(call, (marked) => dryRun.gate(marked, send));
  return { ...outcome, wasSent: send.mock.calls.length > 0 };
}

it.each([
  ['a tool that is marked read-only', READ, true],
  ['a method for resources or prompts', { ...WRITE, isMethod: true }, true],
  ['a tool without annotations', WRITE, false],
  ['a tool that says it is not read-only', { ...WRITE, annotations: { readOnlyHint: false } }, false],
  ['a tool whose hint is no boolean', { ...WRITE, annotations: { readOnlyHint: 'true' } }, false],
])('of %s: sent is %j', async (_, tool, wasSent) => {
  const outcome = await make(new DryRun((text) => text), callOf(tool));
  expect(outcome).toMatchObject(wasSent ? { wasSent, result: 'sent' } : { wasSent, isDryRun: true });
});

it('sends every call that is not marked', async () => {
  const send = vi.fn<PassOn>(async () => succeeded('sent'));
  expect(await new DryRun((text) => text).gate(callOf(WRITE), send)).toEqual(succeeded('sent'));
});

it('lists the calls once, with secrets masked and long values cut', async () => {
  const dryRun = new DryRun((text) => text.replaceAll('secret', '***'));
  await make(dryRun, callOf(WRITE, { path: 'a\u001b[2J', key: 'secret', text: 'x'.repeat(100) }));
  await make(dryRun, callOf(READ));
  const { notices } = dryRun.withNotice(answerOf({ notices: ['first'] }));
  expect(notices).toEqual([
    'first',
    `Dry run: 1 call was not sent: files.write(path="a\\u001b[2J", key="***", text="${'x'.repeat(59)}…).`,
  ]);
  expect(dryRun.withNotice(answerOf()).notices).toEqual([]);
});

it('lists at most twenty, and each session its own', async () => {
  const dryRun = new DryRun((text) => text);
  for (let index = 0; index < 25; index += 1) {
    await make(dryRun, callOf(WRITE, { index }));
  }
  expect(dryRun.withNotice(answerOf({ session: 'other' })).notices).toEqual([]);
  expect(dryRun.withNotice(answerOf({ status: 'cancelled' })).notices).toEqual([]);
  const [notice = ''] = dryRun.withNotice(answerOf()).notices;
  expect(notice).toMatch(
    /^Dry run: 25 calls were not sent: files\.write\(index=0\); .*files\.write\(index=19\); and 5 more\.$/,
  );
});

it('says that a tool without an output schema was not called', () => {
  expect(standInFor('files', WRITE)).toEqual({
    content: [{ type: 'text', text: 'dry run: files.write was not called' }],
  });
});

it.each([
  [
    { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' }, ok: { type: 'boolean' } } },
    { id: 0, name: '', ok: false },
  ],
  [
    {
      properties: {
        kind: { const: 'issue' },
        state: { enum: ['open', 'closed'] },
        page: { type: 'integer', default: 1 },
      },
    },
    { kind: 'issue', state: 'open', page: 1 },
  ],
  [
    {
      type: 'object',
      properties: {
        items: { type: 'array', minItems: 2, items: { type: 'number', minimum: 3 } },
        rest: { type: 'array' },
      },
    },
    { items: [3, 3], rest: [] },
  ],
  [
    {
      type: 'object',
      properties: { at: { $ref: '#/$defs/place' } },
      $defs: { place: { type: ['string', 'null'], minLength: 2 } },
    },
    { at: 'xx' },
  ],
  [
    { type: 'object', properties: { a: { anyOf: [{ type: 'number', exclusiveMinimum: 0 }, { type: 'null' }] } } },
    { a: 1 },
  ],
  [
    { allOf: [{ properties: { a: { type: 'string' } } }, { properties: { b: { type: 'boolean' } } }] },
    { a: '', b: false },
  ],
  [
    { type: 'object', properties: { id: { type: 'integer' } }, anyOf: [{ required: ['id'] }, { required: ['name'] }] },
    { id: 0 },
  ],
  [
    {
      properties: {
        a: { anyOf: [{ type: 'null' }, { type: 'integer' }] },
        b: { type: ['null', 'string'] },
        c: { type: 'null' },
      },
    },
    { a: 0, b: '', c: null },
  ],
  [
    { type: 'object', allOf: [{ properties: { a: { type: 'string' } } }], properties: { b: { type: 'boolean' } } },
    { a: '', b: false },
  ],
])('makes the result of %j', (outputSchema, structuredContent) => {
  const text = JSON.stringify(structuredContent);
  expect(standInFor('files', { ...WRITE, outputSchema })).toEqual({
    content: [{ type: 'text', text }],
    structuredContent,
  });
});

it('ends with a schema that refers to itself, or has more than fits', () => {
  const tree = { type: 'object', properties: { left: { $ref: '#' }, right: { $ref: '#' } } };
  const wide = { type: 'array', minItems: 1e9, items: { type: 'array', minItems: 1e9 } };
  const size = (outputSchema: CalledTool['outputSchema']) =>
    JSON.stringify(standInFor('files', { ...WRITE, outputSchema: outputSchema ?? {} })).length;
  expect(size(tree)).toBeLessThan(100_000);
  expect(size({ type: 'object', properties: { wide } })).toBeLessThan(100_000);
});

it('has structured content only if it is an object', () => {
  const outputSchema = { type: 'array', minItems: 1, items: { type: 'string' } };
  expect(standInFor('files', { ...WRITE, outputSchema })).toEqual({ content: [{ type: 'text', text: '[""]' }] });
});

it('copies numbers that JavaScript cannot hold as they are', () => {
  const outputSchema = parseExact('{"type": "object", "properties": {"id": {"default": 12345678901234567890}}}');
  const { content } = standInFor('files', { ...WRITE, outputSchema: outputSchema as Record<string, unknown> });
  expect(content).toEqual([{ type: 'text', text: '{"id":12345678901234567890}' }]);
});

it('copies a limited part of the schema', () => {
  const items = { default: 'x'.repeat(50_000) };
  const outputSchema = { type: 'object', properties: { many: { type: 'array', minItems: 1_000, items } } };
  expect(JSON.stringify(standInFor('files', { ...WRITE, outputSchema })).length).toBeLessThan(200_000);
});
