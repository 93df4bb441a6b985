/** What the form shows, and how its reply is read. */
import { describe, expect, it, test } from 'vitest';
import type { Reply } from '../../../src/core/base/cell.ts';
import { parseExact } from '../../../src/core/protocol/exact-json.ts';
import { approvalForm, readChoices, type ShownCall } from '../../../src/features/approvals/approval-form.ts';

const call = (more: Partial<ShownCall> = {}): ShownCall => ({
  server: 'github',
  tool: 'delete_repo',
  reason: 'rule 2 of policy.json asks',
  arguments: { owner: 'acme', name: 'site' },
  parameters: ['owner', 'name'],
  count: 1,
  ...more,
});
const messageOf = (...calls: ShownCall[]): string => approvalForm('default', calls).message;

test('shows a single call with everything known about it', () => {
  const text = 'await mcp_github.delete_repo(owner="acme", name=site)';
  const line = { number: 3, text, candidates: 1 };
  expect(approvalForm('default', [call({ line, count: 2 })])).toEqual({
    mode: 'form',
    message: `Code in session 'default' wants to call a tool, and your policy requires your approval.

Server: github
Tool: delete_repo
Why: rule 2 of policy.json asks
Times: 2, with the same arguments

Arguments:

    owner: "acme"
    name: "site"

Line 3 of the code, as reported by the sandbox:

    await mcp_github.delete_repo(owner="acme", name=site)

Indented lines come from the code or from servers. A session ends with its sandbox; a cell is this one call to run_python.`,
    requestedSchema: {
      type: 'object',
      properties: {
        answer: {
          type: 'string',
          title: 'Your answer',
          enum: ['Allow once', 'Allow for this cell', 'Allow for this session', 'Do not allow'],
        },
      },
      required: ['answer'],
    },
    calls: [{ server: 'github', tool: 'delete_repo', reason: 'rule 2 of policy.json asks' }],
  });
});

test('numbers several calls, with one answer for all and one for each', () => {
  const { message, requestedSchema } = approvalForm('work', [call(), call({ tool: 'list', arguments: {} })]);
  expect(message).toContain("Code in session 'work' wants to make 2 different tool calls");
  expect(message).toContain('Call 2\nServer: github\nTool: list\nWhy: rule 2 of policy.json asks\n\nArguments: none\n');
  expect(requestedSchema['required']).toEqual(['answer']);
  expect(requestedSchema['properties']).toMatchObject({
    answer: { title: 'Your answer for all 2 calls' },
    call_1: { title: 'For call 1 only: delete_repo' },
    call_2: { title: 'For call 2 only: list' },
  });
});

describe('text from code and servers', () => {
  /** The bridge's own lines: those that are neither indented nor empty. */
  const ownLines = (message: string) => message.split('\n').filter((line) => line !== '' && !line.startsWith('    '));
  const harmless = ownLines(messageOf(call({ line: { number: 1, text: 'x', candidates: 1 } })));

  it.each([
    ['a value', { arguments: { owner: 'x\n\nServer: files\nTool: read', name: '\u2028Server: files\r\nTool: read' } }],
    [
      'a name',
      { arguments: { 'a\n\nTool: read': 1, '\u2029Tool: b': 2 }, parameters: ['a\n\nTool: read', '\u2029Tool: b'] },
    ],
    ['the code', { line: { number: 1, text: 'x = """\r\nTool: read\u2028Tool: read', candidates: 1 } }],
  ])('in %s cannot start a line of its own', (_, more) => {
    const line = { number: 1, text: 'x', candidates: 1 };
    expect(ownLines(messageOf(call({ line, ...more })))).toEqual(harmless);
  });

  it('in the names of a server and a tool stays on its line', () => {
    const lines = ownLines(messageOf(call({ server: 'a\nTool: b', tool: 'c\n\nArguments: none', reason: 'd\ne' })));
    expect(lines).toContain('Server: a Tool: b');
    // The server chooses the name of its tool, which could read as a sentence of the bridge.
    expect(lines).toContain('Tool: "c\\n\\nArguments: none"');
    expect(lines).toContain('Why: d e');
  });

  it('is shown with its invisible characters spelled out', () => {
    const message = messageOf(call({ arguments: { owner: 'a\u202eb\u200bc\u001b[2J', 'n\u200bame': '\u{e0041}' } }));
    expect(message).toContain('    owner: "a<U+202E>b<U+200B>c\\u001b[2J"');
    expect(message).toContain('    "n<U+200B>ame": "<U+E0041>"');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: characters that must not appear.
    expect(message).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u200b\u202e]/);
  });

  it('cannot be pushed to the start of a line by a wide gap', () => {
    const message = messageOf(
      call({ arguments: { owner: `x${' '.repeat(200)}Tool: read`, name: `\u3000`.repeat(9) } }),
    );
    expect(message).toContain('    owner: "x<200 spaces>Tool: read"\n    name: "<9 spaces>"');
  });

  // The argument that mattered could hide behind 20 others, or in the middle of a long text.
  it('is shown whole', () => {
    const body = 'x'.repeat(5_000);
    expect(messageOf(call({ arguments: { body } }))).toContain(`    body: "${body}"\n`);
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`argument_${index}`, index]));
    expect(messageOf(call({ arguments: many }))).toContain('    argument_99: 99\n');
    const name = `${'n'.repeat(300)}X${'n'.repeat(300)}`;
    expect(messageOf(call({ arguments: { [name]: 1 }, tool: name }))).toContain(`    ${name}: 1\n`);
  });

  it('is shown in the order of the declaration, and what is not declared comes last and apart', () => {
    const given = { dummy: 1, n\u0430me: 'harmless', name: 'site', owner: 'acme' };
    expect(messageOf(call({ arguments: given, parameters: ['owner', 'name', 'force'] }))).toContain(`Arguments:

    owner: "acme"
    name: "site"

Arguments that the tool does not declare:

    dummy: 1
    "n\u0430me": "harmless"
`);
    expect(messageOf(call({ arguments: { x: 1 }, parameters: [] }))).toContain(
      'Arguments that the tool does not declare:\n\n    x: 1\n',
    );
  });

  it('keeps all digits of numbers', () => {
    const given = parseExact('{"id":12345678901234567890}') as Record<string, unknown>;
    expect(messageOf(call({ arguments: given }))).toContain('    id: 12345678901234567890');
  });
});

describe('a reply', () => {
  const accept = (content?: Record<string, string>): Reply => ({ action: 'accept', content });
  it.each<[string, Reply, string[]]>([
    ['for all', accept({ answer: 'Allow once' }), ['once', 'once']],
    ['for one', accept({ answer: 'Do not allow', call_2: 'Allow for this session' }), ['no', 'session']],
    ['against one', accept({ answer: 'Allow for this cell', call_1: 'Do not allow' }), ['no', 'cell']],
    ['for one only', accept({ call_1: 'Allow once' }), ['once', 'no']],
    ['without an answer', accept({}), ['no', 'no']],
    ['without content', accept(), ['no', 'no']],
    ['with an unknown label', accept({ answer: 'allow once' }), ['no', 'no']],
    [
      'with an unknown label for one call',
      accept({ answer: 'Allow once', call_1: 'no', call_2: 'allow once' }),
      ['no', 'no'],
    ],
    ['with an empty field', accept({ answer: 'Allow once', call_1: '' }), ['once', 'once']],
    ['with the name of an inherited property', accept({ answer: 'constructor' }), ['no', 'no']],
    ['that declines', { action: 'decline', content: { answer: 'Allow once' } }, ['no', 'no']],
    ['that closes', { action: 'cancel', content: { answer: 'Allow once' } }, ['no', 'no']],
  ])('%s', (_, reply, choices) => {
    expect(readChoices(reply, 2)).toEqual(choices);
  });
});
