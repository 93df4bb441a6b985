/** Settings, server entries, names and images that try to inject something, and secrets that might leak. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { LineClient } from '../../e2e/front-process.ts';
import { CLI, fixtureServer, type ServerEntry } from '../../support/bridge-client.ts';
import { TEST_IMAGES } from '../../support/engines.ts';
import { startArena } from '../../support/faults/arena.ts';
import { clientsOfContainer, containersOfSession } from '../../support/faults/containers.ts';
import type { FaultCase } from '../../support/faults/fault-case.ts';
import { startVictim } from '../../support/faults/victim.ts';
import { findProcesses } from '../../support/sandbox.ts';

const SECRET = 'secret-of-the-entry-5d1f';
/** Exists if a shell has interpreted a server's entry. */
const TOUCHED = join(tmpdir(), `bridge-faults-touched-${process.pid}`);

export function oddEntries(): Record<string, ServerEntry> {
  return {
    spaced: { command: `sh -c "touch ${TOUCHED}"` },
    shell: {
      ...fixtureServer('echo.mjs'),
      args: [...(fixtureServer('echo.mjs').args ?? []), `; touch ${TOUCHED}`, `$(touch ${TOUCHED})`],
    },
    leaking: { ...fixtureServer('crashing.mjs'), env: { SECRET_TOKEN: SECRET } },
  };
}

/** Settings that contain an engine flag, or more than one argument. */
const FLAGS_IN_DISGUISE: readonly Readonly<Record<string, string>>[] = [
  { MCP_BRIDGE_IMAGE: '--privileged' },
  { MCP_BRIDGE_IMAGE: '-v/:/host' },
  { MCP_BRIDGE_IMAGE: 'python:3.14-slim --privileged' },
  { MCP_BRIDGE_IMAGE: 'python\n--privileged' },
  { MCP_BRIDGE_MEMORY: '512m --privileged' },
  { MCP_BRIDGE_CPUS: '1 --privileged' },
  { MCP_BRIDGE_PIDS: '10 --privileged' },
  { MCP_BRIDGE_MOUNTS: '/etc:/x,--privileged' },
];

/** Python that calls the host directly, bypassing the proxies. */
const FORGE = `
import gc
gc.unfreeze()
channel = next(o for o in gc.get_objects() if type(o).__name__ == "Channel")
def ask(method, **params):
    try: return channel.call_sync(method, params)
    except Exception as error: return getattr(error, "code", type(error).__name__)
`;
const BAD_NAMES = [
  '../x',
  '..%2fx',
  '/etc/passwd',
  'a/b',
  'CON',
  'nul',
  'x\0.py',
  '.git/config',
  '..',
  '',
  'x.py',
  'n\u00e4me',
  'a'.repeat(65),
];

export const SETTING_CASES: readonly FaultCase[] = [
  {
    id: 'K01',
    title: 'settings that contain engine flags, several arguments, or a newline',
    expected: 'refused at the start with the setting, its value and what is allowed; no engine is called',
    async run({ arena: { engine } }) {
      const folder = mkdtempSync(join(tmpdir(), 'bridge-faults-settings-'));
      for (const setting of FLAGS_IN_DISGUISE) {
        const client = new LineClient(CLI, { ...engine.env, MCP_BRIDGE_STATE_DIR: folder, ...setting });
        const [name = '', value = ''] = Object.entries(setting)[0] ?? [];
        expect(await client.exited).toEqual([78, null]);
        expect(client.log).toContain(`ERROR ${name} is '${value.replace('\n', '\\x0a')}'`);
      }
      expect(readdirSync(folder)).toEqual([]);
      rmSync(folder, { recursive: true });
    },
  },
  {
    id: 'K02',
    title: 'server commands with shell syntax, and a server file in the working directory',
    expected: 'no shell reads them; the file is not read without consent',
    async run({ arena, run, allow }) {
      allow('shell.echo');
      const project = join(arena.callersFolder, '.mcp.json');
      writeFileSync(project, JSON.stringify({ mcpServers: { project: fixtureServer('echo.mjs') } }));
      const code = [
        'print(await mcp_shell.echo(text="as it is"))',
        'try: await mcp_spaced.x()',
        'except Exception as error: print(error)',
        'print("project" in runtime.discovered_servers())',
      ];
      const { stdout } = await run(code.join('\n'), { servers: ['shell', 'spaced'], timeout: 20 });
      rmSync(project);
      expect(stdout).toMatch(/^as it is\nSERVER_START_FAILED: [^\n]*command '[^\n]*sh -c "touch [^\n]*' not found\n/);
      expect(stdout).toContain('put only the program into "command"');
      expect(stdout).toMatch(/\nFalse$/);
      expect(existsSync(TOUCHED)).toBe(false);
    },
  },
  {
    id: 'K03',
    title: 'names of saved functions and files that are paths, devices, or lead through links',
    expected: 'refused by the host; nothing is read or written outside the store',
    async run({ arena, run }) {
      const { folder } = arena.bridge;
      const outside = mkdtempSync(join(tmpdir(), 'bridge-faults-outside-'));
      const victim = join(outside, 'victim.py');
      writeFileSync(victim, 'def linked(): return "words of the host"\n');
      mkdirSync(join(folder, 'tools'), { recursive: true });
      symlinkSync(victim, join(folder, 'tools', 'linked.py'));
      const code = `${FORGE}
names = ${JSON.stringify(BAD_NAMES)}
print(*[ask("save_tool", name=name, source="def f(): pass") for name in names])
print(*[ask("save_artifact", name=name, data="eA==", mime_type="text/plain") for name in names if "." in name or name == ""])
print(ask("save_tool", name="linked", source="def linked(): return 'overwritten'"))`;
      const { stdout } = await run(code, { timeout: 20 });
      const [tools = '', artifacts = ''] = stdout.split('\n');
      expect(new Set(tools.split(' '))).toEqual(new Set(['CALL_REFUSED']));
      expect(new Set(artifacts.split(' '))).not.toContain('None');
      expect(readFileSync(victim, 'utf8')).toBe('def linked(): return "words of the host"\n');
      expect(readdirSync(outside)).toEqual(['victim.py']);
      const fresh = await run('print(linked() if "linked" in globals() else None)', { session: 'with-saved' });
      expect(fresh.text).not.toContain('words of the host');
      rmSync(outside, { recursive: true });
      rmSync(join(folder, 'tools'), { recursive: true });
    },
  },
  {
    id: 'K05',
    title: 'a proxy with a password in the bridge’s environment',
    expected: 'neither the engine’s command nor the sandbox gets it',
    containers: true,
    async run({ arena, run }) {
      const proxies = 'import os; print({k: v for k, v in os.environ.items() if "proxy" in k.lower() and v})';
      expect((await run(proxies)).stdout).toBe('{}');
      const [container = ''] = await containersOfSession(arena.engine, arena.bridge.pid);
      const clients = clientsOfContainer(container);
      expect(clients.length).toBeGreaterThan(0);
      const environments = clients.map((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8')).join('\n');
      const { proxy, environment, server } = arena.canaries;
      [proxy, environment, server].forEach((canary) => expect(environments).not.toContain(canary));
    },
  },
  {
    id: 'K06',
    title: 'a server prints its secret and crashes; code and secrets in process arguments',
    expected: 'the secret is masked wherever it appears; no process argument contains it or a cell’s code',
    async run({ arena, run, allow }) {
      allow('leaking.crash');
      const code = [
        'marker_of_the_code = 4711',
        'try: await mcp_leaking.crash()',
        'except Exception as error: print(error)',
        'print(runtime.describe_server("leaking"), await runtime.query_tool_docs("leaking"))',
      ];
      const answer = await run(code.join('\n'), { servers: ['leaking'], timeout: 20 });
      expect(answer.stdout).toContain('fatal: giving up, token ***');
      expect(answer.text + arena.log()).not.toContain(SECRET);
      expect(findProcesses(SECRET)).toEqual([]);
      expect(findProcesses('marker_of_the_code')).toEqual([]);
    },
  },
  {
    id: 'K08',
    title:
      'an image with an entry point, a volume, a health check, `USER root`, a working directory and labels that are flags',
    expected:
      'none has an effect, except that Docker mounts the volume: the kernel runs as nobody, unprivileged; the image’s variables stay',
    containers: true,
    async run({ arena: { engine } }) {
      const image = 'localhost/bridge-faults-hostile:latest';
      const folder = mkdtempSync(join(tmpdir(), 'bridge-faults-image-'));
      const lines = [
        `FROM ${TEST_IMAGES.slim}`,
        'ENV PYTHONSTARTUP=/evil.py PYTHONPATH=/evil',
        'ENTRYPOINT ["/bin/false"]',
        'CMD ["nothing"]',
        'VOLUME /data',
        'USER root',
        'WORKDIR /evil',
        'STOPSIGNAL SIGUSR1',
        'LABEL run="podman run --privileged" io.containers.capabilities="SYS_ADMIN"',
      ];
      writeFileSync(join(folder, 'Containerfile'), `${lines.join('\n')}\n`);
      const built = await engine.run(
        'build',
        '--network=none',
        '--tag',
        image,
        '--file',
        join(folder, 'Containerfile'),
        folder,
      );
      rmSync(folder, { recursive: true });
      expect(built).toMatchObject({ exitCode: 0 });
      const own = await startArena({ engine, env: { MCP_BRIDGE_IMAGE: image, MCP_BRIDGE_PULL: 'never' } });
      const code = [
        'import os',
        'status = open("/proc/self/status").read()',
        'print(os.getuid(), os.getcwd(), os.path.exists("/data"))',
        'print([line for line in status.splitlines() if line.startswith(("CapEff", "CapBnd", "NoNewPrivs"))])',
      ];
      const { text } = await own.bridge.runPython(code.join('\n'), { timeout: 60 });
      expect(await own.close()).toEqual([]);
      await engine.run('rmi', '--force', image);
      const none = '0'.repeat(16);
      // Docker cannot ignore the volumes of an image: it mounts them, and removes them with the container.
      const mounted = engine.name === 'docker' ? 'True' : 'False';
      expect(text).toBe(`65534 /workspace ${mounted}\n['CapEff:\\t${none}', 'CapBnd:\\t${none}', 'NoNewPrivs:\\t1']`);
    },
  },
  {
    id: 'K09',
    title:
      'two bridges share a state directory whose path has spaces and other letters, locale C; one that is not writable',
    expected: 'both work without disturbing each other; what could not be stored is reported',
    async run({ arena: { engine } }) {
      const folder = join(mkdtempSync(join(tmpdir(), 'bridge-faults-home-')), 'my files, f\u00fcr alle');
      mkdirSync(folder);
      const env = { LC_ALL: 'C', LANG: 'C', LANGUAGE: '' };
      const both = await Promise.all([1, 2].map(() => startVictim(engine, { folder, env })));
      const answers = await Promise.all(
        both.map(({ run }, index) =>
          run(`mine = "\u00e4${index}"\nprint(mine, "\u20ac", await mcp_stubborn.echo(text="\u4e2d"))`, {
            servers: ['stubborn'],
          }),
        ),
      );
      expect(answers).toEqual(['\u00e40 \u20ac \u4e2d', '\u00e41 \u20ac \u4e2d']);
      expect(await both[0]?.run('print(mine)')).toBe('\u00e40');
      await Promise.all(both.map((victim) => victim.remove()));
      const unwritable = await startVictim(engine);
      const file = join(unwritable.folder, 'tools');
      writeFileSync(file, 'a file where a folder should be');
      expect(await unwritable.run('def f(): return 1\nprint("works")')).toContain('works');
      const kept = await unwritable.run(
        'def f(): return 1\ntry: save_tool(f)\nexcept Exception as error: print(error)',
      );
      expect(kept).toContain('STATE_WRITE_FAILED');
      await unwritable.remove();
    },
  },
];
