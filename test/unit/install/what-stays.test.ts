/** What `uninstall` says about everything that stays on the machine. */
import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeStaying } from '../../../src/app/install/what-stays.ts';
import { makeHome } from '../../support/client-homes.ts';

function put(path: string, content: string | Uint8Array, mode = 0o644): string {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, content, { mode });
  return path;
}

// It ended with the client's file, and the logs, copies and packages stayed without a word.
it('uninstall names what stays, with sizes, and how to remove it', async () => {
  const home = makeHome();
  const file = home.fileOf('cursor');
  put(file, '{"mcpServers": {"a": {"command": "a"}}}');
  await home.run('cursor');
  put(join(home.stateDir, 'audit', 'log.jsonl'), Buffer.alloc(3 * 1024 * 1024));
  put(join(home.stateDir, 'settings.json'), '{}');
  const out = await home.run('cursor', { command: 'uninstall' });
  const [backup, ...others] = home.backupsOf(file);
  expect(out).toContain(
    `What stays on this machine; remove it once no client uses the bridge:\n  ${home.stateDir}, with your servers and settings, 3 MiB: audit (3 MiB), settings.json (1 KiB). To remove it, delete the folder, or parts of it.\n`,
  );
  expect(others).toHaveLength(1);
  expect(out).toContain(`${backup}: a copy of the client's file, maybe with secrets. To remove it, delete it.\n`);
});

it('says nothing if nothing stays', async () => {
  const home = makeHome();
  expect(await describeStaying({ stateDir: home.stateDir, system: home.system, files: [] })).toBe('');
});

it('names at most eight parts of the folder, the largest first', async () => {
  const home = makeHome();
  for (let count = 1; count <= 12; count += 1) {
    put(join(home.stateDir, `part${count}`), Buffer.alloc(count * 1024));
  }
  const out = await describeStaying({ stateDir: home.stateDir, system: home.system, files: [] });
  expect(out).toMatch(/78 KiB: part12 \(12 KiB\), .*, part5 \(5 KiB\) and 4 more\. /);
});

it.skipIf(process.platform === 'win32')(
  'names the volumes of an engine, and measures those that can be read',
  async () => {
    const home = makeHome();
    const store = join(home.path, 'volume');
    linkSync(put(join(store, 'a', 'wheel'), Buffer.alloc(2 * 1024 * 1024)), join(store, 'same'));
    const own = `mine-${'a'.repeat(16)}`;
    const folder = join(home.path, 'bin');
    const answer = (place: string) =>
      `#!/bin/sh\ncase "$2" in ls) printf 'mine\\n${own}\\nmine-not-ours\\nnot-mine\\n' ;; inspect) echo '${place}' ;; esac\n`;
    put(join(folder, 'podman'), answer(store), 0o755);
    put(join(folder, 'docker'), answer('/does/not/exist'), 0o755);
    const system = { ...home.system, env: { PATH: `${folder}:/usr/bin:/bin` } };
    const out = await describeStaying({ stateDir: home.stateDir, packagesStore: 'mine', system, files: [] });
    expect(out).toContain(`  Installed packages in podman, 2 MiB. To remove them, run: podman volume rm mine ${own}\n`);
    expect(out).toContain(`  Installed packages in docker. To remove them, run: docker volume rm mine ${own}\n`);
  },
);

it.skipIf(process.platform === 'win32')('does without an engine that fails', async () => {
  const home = makeHome();
  put(join(home.path, 'bin', 'podman'), '#!/bin/sh\necho mine\nexit 1\n', 0o755);
  const system = { ...home.system, env: { PATH: join(home.path, 'bin') } };
  const out = await describeStaying({ stateDir: home.stateDir, packagesStore: 'mine', system, files: [] });
  expect(out).not.toContain('podman');
});
