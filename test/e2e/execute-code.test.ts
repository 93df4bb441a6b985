// Tags: full, fresh
/**
 * `execute_code` for programs and snippets, with the built command and real sandboxes. JavaScript runs on every engine; the examples
 * are in the manner of a multi-language isolator's readme.
 *
 * Needs what runs programs (`Bridge.runProgram`) and the folder of snippets; the arguments, the routing and the texts are tested
 * without them in `extra-tools.test.ts`.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { coverEngines } from '../support/covered-engines.ts';
import { connectTools, SDKS, type ToolClient } from '../support/front-clients.ts';

// The engine of the package is on every machine.
const engines = (await coverEngines()).filter(({ name }) => name === 'embedded');

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

describe.each(engines)('execute_code on $label', (engine) => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'bridge-programs-'));
    mkdirSync(join(folder, 'snippets'));
    writeFileSync(join(folder, 'snippets', 'greet.js'), 'console.log("Hello from a snippet");\n');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function connect(sdk: (typeof SDKS)[number] = 'SDK 1'): Promise<ToolClient> {
    const client = await connectTools({ sdk, engine, tools: 'execute_code', folder });
    open.push(client);
    return client;
  }
  const javascript = (entrypoint_code: string, more: Record<string, unknown> = {}) => ({
    language: 'javascript',
    entrypoint_code,
    ...more,
  });

  it.each(SDKS)('runs a program: %s', async (sdk) => {
    const client = await connect(sdk);
    expect(await client.call('execute_code', javascript('console.log("Hello, World!");'))).toEqual({
      text: '--- stdout ---\nHello, World!\n--- stderr ---',
      structured: {
        status: 'success',
        exit_code: 0,
        stdout: 'Hello, World!\n',
        stderr: '',
        duration_ms: expect.any(Number) as number,
      },
      isError: false,
    });
  });

  it('runs a program with two more files', async () => {
    const client = await connect();
    const given = javascript(
      'import { add } from "./math.mjs";\nimport { name } from "./names.mjs";\nconsole.log(name, add(20, 22));',
      {
        entrypoint_filename: 'app.mjs',
        additional_files: [
          { filename: 'math.mjs', content: 'export const add = (a, b) => a + b;\n' },
          { filename: 'names.mjs', content: 'export const name = "sum";\n' },
        ],
      },
    );
    expect(await client.call('execute_code', given)).toMatchObject({ text: '--- stdout ---\nsum 42\n--- stderr ---' });
  });

  it('runs a snippet', async () => {
    const client = await connect();
    expect(await client.call('execute_code', { snippet_name: 'greet' })).toMatchObject({
      text: '--- stdout ---\nHello from a snippet\n--- stderr ---',
    });
    await expect(client.call('execute_code', { snippet_name: 'gret' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('greet') as string,
    });
  });

  it('names a failure first, with both streams', async () => {
    const client = await connect();
    const code = 'console.log("one");\nconsole.error("two");\nprocess.exit(3);';
    expect(await client.call('execute_code', javascript(code))).toMatchObject({
      text: 'Execution Failed (error): the program exited with code 3\n--- stdout ---\none\n--- stderr ---\ntwo',
      structured: { status: 'error', exit_code: 3, message: 'the program exited with code 3' },
      isError: true,
    });
    const thrown = await client.call('execute_code', javascript('throw new TypeError("no");'));
    expect(thrown).toMatchObject({ isError: true, structured: { status: 'error', exit_code: 1 } });
    expect(thrown.text).toContain('TypeError: no');
  });

  it('ends a program at its deadline', async () => {
    const client = await connect();
    const answer = await client.call('execute_code', javascript('console.log("begun");\nfor (;;);', { timeout: 1 }));
    expect(answer).toMatchObject({ isError: true, structured: { status: 'timeout', stdout: 'begun\n' } });
    expect(answer.text).toMatch(/^Execution Failed \(timeout\): the program was ended at its deadline, after \d/);
  });

  it('cuts 10 MB of output in the middle', async () => {
    const client = await connect();
    const code = 'const line = "x".repeat(99);\nfor (let i = 0; i < 100_000; i += 1) console.log(line);';
    const { text, isError } = await client.call('execute_code', javascript(code, { timeout: 60 }));
    expect(isError).toBe(false);
    expect(text.length).toBeLessThan(45_000);
    expect(text).toMatch(/omitted here\.\]|of output were not kept\.\]/);
  });

  it('refuses an unknown language with a protocol error that names those there are', async () => {
    const client = await connect();
    await expect(client.call('execute_code', { language: 'javascrpt', entrypoint_code: '1' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('javascript') as string,
    });
  });

  it('lets no program call servers', async () => {
    const client = await connect();
    const code = 'await mcp.echo.echo({ text: "hi" }).catch((error) => console.log(error.code, error.message));';
    const { text } = await client.call('execute_code', javascript(code));
    expect(text).toContain('SERVER_NOT_AVAILABLE');
  });
});
