// Tags: bubblewrap, docker-release, user
/**
 * Attacks through mounted folders: code leads a later mount elsewhere by putting a link in its place, and changes the files that
 * say what the bridge starts on the host.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { runProgram } from '../support/attacks.ts';
import { CLI, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

/** The embedded engine has no mounts. */
const engines = (await coverEngines()).filter(({ name }) => name !== 'embedded');
const SECRET = 'not-for-the-sandbox';

describe.each(engines)('code in a mounted folder on $label', (engine) => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'attack-mounts-'));
    for (const name of ['', 'work', 'work/data', 'private', 'state']) {
      mkdirSync(join(folder, name), { recursive: true });
      // The user of a container is another one.
      chmodSync(join(folder, name), 0o777);
    }
    writeFileSync(join(folder, 'private/id'), SECRET);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Runs a cell. Its exit code does not matter: a refused start is the end of the attack. */
  async function exec(code: string, more: Record<string, string>, ...options: string[]): Promise<string> {
    const env = { ...engine.env, MCP_BRIDGE_STATE_DIR: join(folder, 'state'), ...more };
    return (await runProgram([process.execPath, CLI, 'exec', ...options, '-c', code], { env })).shown;
  }

  const mounts = (...names: string[]) => ({
    MCP_BRIDGE_MOUNTS: names.map((name) => `${folder}/${name}`).join(','),
  });

  /** A file that defines a server; starting it leaves a file. */
  const plant = (path: string) => `import json, os
server = {"command": "sh", "args": ["-c", "touch '${folder}/started'"]}
os.path.lexists("${path}") and os.remove("${path}")
with open("${path}", "w") as file:
    json.dump({"mcpServers": {"planted": server}}, file)
os.chmod("${path}", 0o666)`;
  const HAS_SERVERS = 'which has your servers and their credentials';
  const START = 'await runtime.list_tools("planted")';

  it('works with a folder of its own', async () => {
    expect(await exec('import os; print(os.listdir("/mounted"))', mounts('work:/mounted:rw'))).toContain("['data']");
  });

  it.each([
    ['in its place', 'work/data'],
    ['to which a link outside leads', 'link'],
  ])('does not lead another mount to a folder of its choice %s', async (_, place) => {
    symlinkSync(join(folder, 'work/data'), join(folder, 'link'));
    const nested = mounts('work:/mounted:rw', `${place}:/data`);
    await exec(
      `import os\nos.rename("/mounted/data", "/mounted/old"); os.symlink("${folder}/private", "/mounted/data")`,
      nested,
    );
    const shown = await exec('print(open("/data/id").read())', nested);
    expect(shown).toContain(`the mount of "${folder}/${place}" is refused: code could replace it`);
    expect(shown).not.toContain(SECRET);
  });

  it.each(['MCP_SERVERS_CONFIG', 'MCP_BRIDGE_CONFIG_SOURCES'])(
    'defines no server in the file of %s',
    async (variable) => {
      writeFileSync(join(folder, 'work/servers.json'), '{"mcpServers": {}}');
      const more = { ...mounts('work:/mounted:rw'), [variable]: join(folder, 'work/servers.json') };
      await exec(plant('/mounted/servers.json'), more);
      expect(await exec(START, more, '--server', 'planted')).toContain(HAS_SERVERS);
      expect(existsSync(join(folder, 'started'))).toBe(false);
    },
  );

  it('defines no server in a file that the state directory links to', async () => {
    writeFileSync(join(folder, 'work/linked.json'), '{"mcpServers": {}}');
    symlinkSync(join(folder, 'work/linked.json'), join(folder, 'state/linked.json'));
    await exec(plant('/mounted/linked.json'), mounts('work:/mounted:rw'));
    expect(await exec(START, mounts('work:/mounted:rw'), '--server', 'planted')).toContain(HAS_SERVERS);
    expect(existsSync(join(folder, 'started'))).toBe(false);
  });

  // A start after the attack would find the state directory in the mounted folder.
  it('does not become the state directory of a running bridge', async () => {
    mkdirSync(join(folder, 'real'));
    symlinkSync(join(folder, 'real'), join(folder, 'work/state'));
    const more = { ...mounts('work:/mounted:rw'), MCP_BRIDGE_STATE_DIR: join(folder, 'work/state') };
    const bridge = await startBridge({ engine, env: more, onLog: () => undefined });
    onTestFinished(() => bridge.close());
    const attack = await bridge.runPython(
      `import os\nos.remove("/mounted/state"); os.mkdir("/mounted/state")\n${plant('/mounted/state/a.json')}`,
    );
    expect(attack.text).toContain(HAS_SERVERS);
    await bridge.runPython(START, { servers: ['planted'] });
    expect(existsSync(join(folder, 'started'))).toBe(false);
  });
});
