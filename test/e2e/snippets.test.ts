// Tags: anywhere, full
/** Snippets on the command line, their completion, the import of another system's, and what an MCP client sees of them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CLI, startBridge } from '../support/bridge-client.ts';
import type { TestEngine } from '../support/engines.ts';

/** No sandbox is started. */
const NO_ENGINE = {
  env: { PATH: '/nonexistent', HOME: '/nonexistent', MCP_BRIDGE_RUNTIME: 'podman' },
} as unknown as TestEngine;
const PREFIX = 'resource://mcp-server-code-execution-mode/snippets/';

let folder: string;
let stateDir: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bridge-snippets-'));
  stateDir = join(folder, 'state');
});
afterAll(() => rmSync(folder, { recursive: true }));

async function run(args: readonly string[], input = '') {
  const env = { ...NO_ENGINE.env, HOME: folder, MCP_BRIDGE_STATE_DIR: stateDir };
  const child = spawn(process.execPath, [CLI, ...args], { env, cwd: folder });
  const exited = once(child, 'close') as Promise<[number | null]>;
  child.stdin.end(input);
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { stdout, stderr, exitCode };
}

const printed = (stdout: string) => ({ stdout, stderr: '', exitCode: 0 });

it('stores, lists, shows, completes and removes snippets', async () => {
  writeFileSync(join(folder, 'report.go'), 'package main\n');
  expect(await run(['snippets', 'add', './report.go'])).toEqual(printed('report: stored as report.go\n'));
  expect(await run(['snippets', 'add', 'tidy', '--language', 'bash'], 'ls\n')).toEqual(
    printed('tidy: stored as tidy.sh\n'),
  );
  expect(await run(['snippets'])).toEqual(printed('report  go    13 bytes\ntidy    bash  3 bytes\n'));
  expect(await run(['snippets', 'show', 'tidy'])).toEqual(printed('ls\n'));
  expect(JSON.parse((await run(['snippets', 'list', '--json'])).stdout)).toMatchObject([
    { name: 'report' },
    { name: 'tidy' },
  ]);
  expect(await run(['complete', '--shell', 'bash', '--', 'snippets', 'show', 'r'])).toEqual(printed('report\n'));
  expect(await run(['complete', '--', 'snippets', 'add', 'x', '--language', 'type'])).toEqual(printed('typescript\n'));
  expect(await run(['snippets', 'add', 'tidy', '--language', 'go'])).toMatchObject({
    exitCode: 64,
    stderr: expect.stringMatching(/^USAGE_INVALID: there is already a snippet 'tidy': tidy\.sh\nHint: Add --force/),
  });
  expect(await run(['snippets', 'show', 'tidi'])).toMatchObject({
    exitCode: 64,
    stderr: expect.stringContaining("Did you mean 'tidy'?"),
  });
  expect(await run(['snippets', 'rm', 'report', 'tidy'])).toEqual(printed('removed report.go\nremoved tidy.sh\n'));
  expect(readdirSync(join(stateDir, 'snippets'))).toEqual([]);
});

it('takes over the configuration of the isolator, whose snippets a client then sees', async () => {
  mkdirSync(join(folder, 'prompts'));
  writeFileSync(join(folder, 'prompts/hello_world.py'), 'print("hello")\n');
  const languages = { ruby: { image: 'ruby:3.4-slim', command: ['ruby'], extension: '.rb' } };
  writeFileSync(join(folder, 'prompts/r.rb'), 'puts 1\n');
  const config = { promptsDir: './prompts', languages, network: 'none' };
  writeFileSync(join(folder, 'isolator_config.json'), JSON.stringify(config));
  const preview = await run(['import', 'isolator_config.json', '--dry-run']);
  expect(preview).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('this was a dry run') });
  expect(readdirSync(stateDir)).not.toContain('languages.json');
  expect(await run(['import', 'isolator_config.json'])).toEqual(
    printed(preview.stdout.replace('Nothing was changed: this was a dry run.\n', '')),
  );
  expect(JSON.parse(readFileSync(join(stateDir, 'languages.json'), 'utf8'))).toMatchObject({ languages: { ruby: {} } });
  // languages.json is no server file.
  expect(await run(['servers', 'list'])).toMatchObject({ exitCode: 0, stderr: '' });
  const bridge = await startBridge({ engine: NO_ENGINE, env: { MCP_BRIDGE_STATE_DIR: stateDir } });
  try {
    const { resources } = await bridge.client.listResources();
    expect(resources.filter(({ uri }) => uri.startsWith(PREFIX)).map(({ mimeType, name }) => [name, mimeType])).toEqual(
      [
        ['hello_world', 'text/x-python'],
        ['r', 'text/plain'],
      ],
    );
    const { contents } = await bridge.client.readResource({ uri: `${PREFIX}hello_world` });
    expect(contents).toEqual([{ uri: `${PREFIX}hello_world`, mimeType: 'text/x-python', text: 'print("hello")\n' }]);
    await expect(bridge.client.readResource({ uri: `${PREFIX}hello_word` })).rejects.toThrow(
      /Did you mean 'hello_world'/,
    );
    // No restart is needed.
    writeFileSync(join(stateDir, 'languages.json'), '{"languages": {"python": null}}');
    expect((await bridge.client.listResources()).resources.filter(({ uri }) => uri.startsWith(PREFIX))).toEqual([]);
  } finally {
    await bridge.close();
  }
});

it('reports what is wrong with a configuration', async () => {
  writeFileSync(join(folder, 'broken.json'), '{"languages": ');
  expect(await run(['import', 'broken.json'])).toMatchObject({
    exitCode: 64,
    stderr: expect.stringMatching(/^USAGE_INVALID: cannot import 'broken\.json': it is not JSON/),
  });
  writeFileSync(join(stateDir, 'languages.json'), '{"languages": {"go": {"imgae": "x"}}}');
  expect(await run(['snippets', 'list'])).toMatchObject({
    exitCode: 78,
    stderr: expect.stringContaining("languages.go.imgae is not a known key. Did you mean 'image'?"),
  });
  expect(await run(['complete', '--', 'snippets', 'show', ''])).toEqual(printed(''));
});
