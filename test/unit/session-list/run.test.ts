/** What `sessions` says if an engine does not answer. Its lists of real sandboxes are tested end to end. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createContext } from '../../../src/app/bridge/context.ts';
import type { SessionsCommand } from '../../../src/record/session-list/command.ts';
import { sessions } from '../../../src/record/session-list/run.ts';

const DEAD = "echo 'Cannot connect to the daemon' >&2; exit 1";
const EMPTY = 'echo "[]"';
const LIST: SessionsCommand = { command: 'sessions', action: 'list', isJson: false };

/** Runs `sessions` with engines that are shell scripts. */
async function run(command: SessionsCommand, runtime: string, scripts: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'sessions-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, name), 0o755);
  }
  vi.stubEnv('PATH', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const context = createContext({ MCP_BRIDGE_RUNTIME: runtime, MCP_BRIDGE_STATE_DIR: folder });
  const written = { out: '', error: '' };
  const exitCode = await sessions(command, {
    ...context,
    writeOut: (text) => {
      written.out += text;
    },
    writeError: (text) => {
      written.error += text;
    },
  });
  return { ...written, exitCode };
}

test('fails, and does not say that there are none, if no engine answers', async () => {
  const error = expect.stringMatching(/^cannot list the sandboxes on docker: .*Cannot connect/);
  expect(await run(LIST, 'auto', { docker: DEAD })).toEqual({ out: '', error, exitCode: 69 });
  expect(await run({ ...LIST, isJson: true }, 'auto', { docker: DEAD })).toEqual({ out: '[]\n', error, exitCode: 69 });
});

test('fails if the engine that the settings name does not answer, and says which one does', async () => {
  const scripts = { docker: DEAD, podman: EMPTY };
  expect(await run(LIST, 'docker', scripts)).toMatchObject({
    out: 'There are no sandboxes on podman.\n',
    exitCode: 69,
  });
  expect(await run(LIST, 'auto', scripts)).toMatchObject({ out: 'There are no sandboxes on podman.\n', exitCode: 0 });
  expect(await run(LIST, 'podman', { podman: EMPTY })).toEqual({
    out: 'There are no sandboxes.\n',
    error: '',
    exitCode: 0,
  });
});

test('does not say that a sandbox does not exist if its engine does not answer', async () => {
  const kill: SessionsCommand = { ...LIST, action: 'kill', names: ['mine'] };
  await expect(run(kill, 'docker', { docker: DEAD })).rejects.toMatchObject({
    code: 'ENGINE_UNAVAILABLE',
    message: "docker did not answer, so it is unknown whether there is a sandbox with the id or session 'mine'",
  });
  await expect(run(kill, 'auto', { docker: DEAD, podman: EMPTY })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
});
