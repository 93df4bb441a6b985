// Tags: anywhere, full
/** `servers call` of the built command, on real servers: what is sent, printed, refused and recorded. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI, packageServer } from '../support/bridge-client.ts';
import { hasLocalPython } from '../support/local-python.ts';
import { PROMPT, runOnTerminal } from '../support/terminal.ts';

let stateDir: string;
let note: string;

beforeAll(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'bridge-call-'));
  note = join(stateDir, 'note.txt');
  writeFileSync(note, 'one\ntwo\n');
  const mcpServers = {
    filesystem: packageServer('@modelcontextprotocol/server-filesystem', [stateDir]),
    everything: packageServer('@modelcontextprotocol/server-everything'),
  };
  writeFileSync(join(stateDir, 'servers.json'), JSON.stringify({ mcpServers }));
});
afterAll(() => rmSync(stateDir, { recursive: true }));

interface Given {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

async function run(words: readonly string[], { input = '', env = {} }: Given = {}) {
  const child = spawn(process.execPath, [CLI, ...words], {
    env: { PATH: process.env['PATH'], MCP_BRIDGE_STATE_DIR: stateDir, MCP_BRIDGE_LOG_LEVEL: 'ERROR', ...env },
  });
  const exited = once(child, 'close') as Promise<[number | null]>;
  child.stdin.end(input);
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { stdout, stderr, exitCode };
}

/** What a user sees who runs the command at a terminal and types a line when asked. */
async function onTerminal(words: readonly string[], line: string): Promise<string> {
  const settings = { MCP_BRIDGE_STATE_DIR: stateDir, MCP_BRIDGE_LOG_LEVEL: 'ERROR', NO_COLOR: '1' };
  const env = { PATH: process.env['PATH'] ?? '', ...settings };
  return (await runOnTerminal([process.execPath, CLI, ...words], { env, types: [[PROMPT, `${line}\n`]] })).terminal;
}

const call = (...words: string[]) => run(['servers', 'call', ...words]);

describe('servers call', () => {
  it('prints the text of the answer, and reads values as the tool expects them', async () => {
    expect(await call('filesystem', 'read_file', `path=${note}`)).toEqual({
      stdout: 'one\ntwo\n',
      stderr: '',
      exitCode: 0,
    });
    expect((await call('filesystem', 'read_text_file', `path=${note}`, 'head=1')).stdout).toBe('one\n');
    expect((await call('EVERYTHING', 'get_sum', 'a=2', 'b=3.5')).stdout).toBe('The sum of 2 and 3.5 is 5.5.\n');
    expect((await call('everything', 'echo', 'message=5')).stdout).toBe('Echo: 5\n');
    const two = await call('filesystem', 'read_multiple_files', `paths=${note}`, `paths=${note}`);
    expect(two.stdout.match(/one\ntwo\n/g)).toHaveLength(2);
  });

  // A server's error text used to go to the terminal unescaped.
  it('prints no control characters from the error of a server or from a name', async () => {
    const refused = await call('filesystem', 'read_file', 'path=/x\u001b[2J\u202e');
    expect(refused.stderr).toContain('/x\\x1b[2J\\x202e');
    const unknown = await call('filesystem', 'read\u001b[2J');
    expect(unknown.stderr).toContain('\\x1b[2J');
    expect(refused.stderr + unknown.stderr).not.toContain('\u001b');
  });

  it('reads arguments from a file and as JSON from stdin, and prints the whole answer as JSON', async () => {
    const target = join(stateDir, 'copy.txt');
    await call('filesystem', 'write_file', `path=${target}`, `content=@${note}`);
    expect(readFileSync(target, 'utf8')).toBe('one\ntwo\n');
    const answer = await run(['servers', 'call', 'everything', 'echo', '--json-args', '-', '--json'], {
      input: '{"message": "5"}',
    });
    expect(JSON.parse(answer.stdout)).toEqual({ content: [{ type: 'text', text: 'Echo: 5' }] });
  });

  it('describes images, and writes them to a given folder', async () => {
    const told = await call('everything', 'get-tiny-image');
    expect(told.stdout).toContain("Here's the image you requested");
    expect(told.stderr).toBe('image, image/png, 4,033 bytes: not shown; to save it, add --output FILE.\n');
    const file = join(stateDir, 'tiny.png');
    await call('everything', 'get-tiny-image', '--output', file);
    expect(readFileSync(file).subarray(0, 4)).toEqual(Buffer.from([0x89, 0x50, 0x4e, 0x47]));
    expect(await call('filesystem', 'read_file', `path=${note}`, '--output', join(stateDir, 'out.txt'))).toMatchObject({
      stdout: '',
      stderr: `Wrote the text to ${join(stateDir, 'out.txt')}.\n`,
    });
    expect(readFileSync(join(stateDir, 'out.txt'), 'utf8')).toBe('one\ntwo\n');
  });

  it('refuses wrong names and arguments before anything is sent, with the messages of the proxies', async () => {
    expect(await call('filesystem', 'read_text_file', 'path=5', 'head=x')).toMatchObject({
      stderr: expect.stringMatching(
        /^TOOL_ARGUMENT_INVALID: filesystem\.read_text_file: head must be float, not "x"\nHint: The signature is read_text_file\(path: str, /,
      ),
      exitCode: 70,
    });
    expect((await call('filesystem', 'read_text_file', 'pth=x')).stderr).toContain(
      "pth is not a parameter of this tool. Did you mean 'path'?",
    );
    const unknown = await call('filesystem', 'read_text_fil', 'path=x', '--json');
    expect(JSON.parse(unknown.stdout)).toMatchObject({
      error: {
        code: 'TOOL_UNKNOWN',
        hint: expect.stringMatching(/^Did you mean 'read_text_file'.*servers tools filesystem/),
      },
    });
    expect((await call('filesistem', 'x')).stderr).toContain("Did you mean 'filesystem'?");
    expect(await call('filesystem', 'read_text_file', 'path')).toMatchObject({ exitCode: 64 });
  });

  it('reports on stderr what the tool refused, and that it took too long', async () => {
    const failed = await call('filesystem', 'read_file', 'path=/etc/passwd');
    expect(failed).toMatchObject({ stdout: '', exitCode: 70 });
    expect(failed.stderr).toMatch(/^TOOL_FAILED: filesystem\.read_file: Access denied/);
    const late = await call('everything', 'trigger-long-running-operation', 'duration=60', 'steps=2', '--timeout', '1');
    expect(late).toMatchObject({
      exitCode: 75,
      stderr: expect.stringMatching(/^CALL_TIMEOUT: .* did not answer within 1 s/),
    });
  });

  const notCovered = hasLocalPython() ? '' : 'not covered: a pseudo terminal needs python3: ';
  it.skipIf(notCovered !== '')(`${notCovered}asks at the terminal if the policy requires it`, async () => {
    const policy = join(stateDir, 'policy.json');
    writeFileSync(policy, JSON.stringify({ default: 'allow', rules: [{ effect: 'ask', tool: 'read_file' }] }));
    const yes = await onTerminal(['servers', 'call', 'filesystem', 'read_file', `path=${note}`], 'y');
    const no = await onTerminal(['servers', 'call', 'filesystem', 'read_file', `path=${note}`], 'n');
    rmSync(policy);
    expect(yes).toMatch(/Your policy requires your approval for filesystem\.read_file: rules\[0\] of .*policy\.json/);
    expect(yes).toMatch(/one\r\ntwo\r\n$/);
    expect(no).toMatch(/APPROVAL_DENIED: filesystem\.read_file was not called: you were asked and did not say yes/);
    expect(no).not.toContain('one\r\n');
  });

  it('obeys policies, and is recorded', async () => {
    const policy = join(stateDir, 'policy.json');
    const rules = [
      { effect: 'deny', server: 'filesystem', tool: 'write_file' },
      { effect: 'ask', server: 'filesystem', tool: 'read_file' },
      { effect: 'deny', server: 'everything' },
    ];
    writeFileSync(policy, JSON.stringify({ default: 'allow', rules }));
    const env = { MCP_BRIDGE_AUDIT: 'required' };
    const calls = [
      ['filesystem', 'write_file', `path=${note}`, 'content=x'],
      ['filesystem', 'read_file', `path=${note}`],
      ['everything', 'echo', 'message=x'],
      ['filesystem', 'read_text_file', `path=${note}`],
    ];
    const answers = [];
    for (const words of calls) {
      answers.push(await run(['servers', 'call', ...words], { env }));
    }
    const records = await run(['audit', 'show', '--json'], { env });
    rmSync(policy);
    expect(answers.map(({ exitCode, stderr }) => [exitCode, /^\w*/.exec(stderr)?.[0]])).toEqual([
      [77, 'POLICY_DENIED'],
      [77, 'APPROVAL_UNAVAILABLE'],
      [77, 'POLICY_DENIED'],
      [0, ''],
    ]);
    expect(answers[1]?.stderr).toContain('there is no terminal to ask at');
    expect(readFileSync(note, 'utf8')).toBe('one\ntwo\n');
    expect(records.stderr).toBe('');
    expect(records.stdout).not.toContain(note);
    for (const [server, tool] of calls) {
      expect(records.stdout).toContain(`servers call ${server} ${tool}`);
    }
    expect(records.stdout.match(/"decision":"denied"/g)).toHaveLength(2);
  });
});
