import { expect, test } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { checkParams } from '../../../src/core/calls/method.ts';
import { createObservedResults } from '../../../src/core/calls/observed-results.ts';
import { stubsMethod } from '../../../src/core/calls/stub-calls.ts';
import { resolveName } from '../../../src/core/catalog/names.ts';
import type { ServerDirectory } from '../../../src/core/directory/server-directory.ts';

const SERVER = { name: 'files', alias: 'files', description: '' };
const TOOLS = [
  { name: 'read-file', alias: 'read_file', description: 'Read a file', inputSchema: { properties: { path: {} } } },
  { name: 'List', alias: 'List', description: 'List a directory', inputSchema: { type: 'object' } },
];
const HIDDEN = new BridgeError('POLICY_DENIED', 'files.read was not called');

const directory = {
  find: async () => SERVER,
  definitionKey: () => 'key',
  whyHidden: (_: unknown, wanted?: string) => (wanted === 'read' ? HIDDEN : undefined),
  tools: async () => TOOLS,
  findTool: async (_: unknown, wanted: string) => {
    const tool = resolveName(TOOLS, wanted);
    if (tool === undefined) {
      throw wanted === 'read' ? HIDDEN : new BridgeError('TOOL_UNKNOWN', 'no such tool');
    }
    return tool;
  },
} satisfies Partial<ServerDirectory> as unknown as ServerDirectory;

const manyTools = Array.from({ length: 100 }, (_, index) => {
  const inputSchema = { properties: { [`path_${index}`]: { type: 'string' }, recursive: { type: 'boolean' } } };
  return { name: `list_${index}`, alias: `list_${index}`, description: `Lists directory ${index}.`, inputSchema };
});

function ask(params: Record<string, unknown>): Promise<unknown> {
  return askOf(directory, params);
}

async function askOf(
  from: ServerDirectory,
  params: Record<string, unknown>,
  observed = createObservedResults(),
): Promise<unknown> {
  const [, method] = stubsMethod(from, observed);
  return method.run(checkParams(method, params), {
    session: 'default',
    generation: 1,
    cell: 1,
    call: 1,
    loaded: new Set(),
    signal: new AbortController().signal,
  });
}

test('contain all tools of a server, or the named ones in their order', async () => {
  expect(await ask({ server: 'files' })).toMatch(
    /async def read_file\(.*\): 'Read a file'\nasync def List\(\*\*kwargs\): 'List a directory'\n$/,
  );
  expect(await ask({ server: 'files', tools: ['list'] })).not.toContain('read_file');
  expect(await ask({ server: 'files', tools: ['list', 'LIST'] })).toMatch(
    /default\.\n# Not loaded: servers=\['files'\]\.\nasync def List\(.*\n$/,
  );
  await expect(ask({ server: 'files', tools: ['nope'] })).rejects.toMatchObject({ code: 'TOOL_UNKNOWN' });
});

test('contain the tools with all words of a text in their name or description, and say so', async () => {
  const stub = await ask({ server: 'files', tools: ['a DIRECTORY'] });
  expect(stub).toMatch(
    /\n# 1 of 2 tools, chosen by 'a DIRECTORY'\.\nasync def List\(\*\*kwargs\): 'List a directory'\n$/,
  );
  expect(await ask({ server: 'files', tools: ['file', 'list'] })).toMatch(/# 2 of 2 .*\n.*List.*\n.*read_file/);
  expect(await ask({ server: 'files', tools: ['directory nothing file'] })).toMatch(
    /# 2 of 2 .*\n.*read_file.*\n.*List/,
  );
  for (const text of ['directory-nothing', 'a nothing', 'is nothing']) {
    await expect(ask({ server: 'files', tools: [text] })).rejects.toMatchObject({ code: 'TOOL_UNKNOWN' });
  }
  await expect(ask({ server: 'files', tools: ['…'] })).rejects.toMatchObject({ code: 'TOOL_UNKNOWN' });
});

// One text with two exact names was taken for words, which nearly every description contains: it showed all tools.
test.each(['read_file list', 'list, read-file', 'list;read_file', 'read-file of a directory'])(
  'the names in %j win over words',
  async (text) => {
    const stub = (await ask({ server: 'files', tools: [text] })) as string;
    const isBoth = !text.includes('directory');
    expect(stub.includes('async def List(')).toBe(isBoth);
    expect(stub).toContain('async def read_file(');
    expect(stub.includes("# 1 of 2 tools, named in 'read-file of a directory'.")).toBe(!isBoth);
  },
);

test('a misspelled name among names is refused', async () => {
  await expect(ask({ server: 'files', tools: ['read_file lst_dir'] })).rejects.toMatchObject({ code: 'TOOL_UNKNOWN' });
});

test('several names in one text are shown whole', async () => {
  const many = { ...directory, tools: async () => manyTools } as ServerDirectory;
  const stub = (await askOf(many, { server: 'files', tools: [manyTools.map(({ name }) => name).join(' ')] })) as string;
  expect(stub).not.toContain('Shortened');
});

test('the most used tools come first', async () => {
  const many = { ...directory, tools: async () => manyTools } as ServerDirectory;
  const observed = createObservedResults();
  for (const index of [70, 99, 99]) {
    observed.note('key', { name: `list_${index}`, outputSchema: {} }, {}, { content: [] });
  }
  const stub = (await askOf(many, { server: 'files' }, observed)) as string;
  expect(stub).toMatch(/async def list_99\(path_99.*\n(?:#.*\n)*async def list_70\(.*\n(?:#.*\n)*async def list_0\(/);
});

test('are limited, unless tools are named or more is asked for', async () => {
  const many = { ...directory, tools: async () => manyTools } as ServerDirectory;
  const size = async (params: object) => ((await askOf(many, { server: 'files', ...params })) as string).length;
  const names = manyTools.map(({ name }) => name);
  expect(await size({})).toBeLessThanOrEqual(5_250);
  expect(await size({ tools: ['directory'] })).toBeLessThanOrEqual(5_250);
  expect(await size({ tools: names })).toBeGreaterThan(8_000);
  expect(await size({ max_tokens: 5_000 })).toBeGreaterThan(8_000);
  expect(await size({ tools: names, max_tokens: 200 })).toBeLessThanOrEqual(700);
});

test('a hidden tool is refused with the reason, even if others mention its name', async () => {
  await expect(ask({ server: 'files', tools: ['read'] })).rejects.toMatchObject({ code: 'POLICY_DENIED' });
});
