/** An SSH server on loopback with keys of its own, for engines on "another" machine. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { delimiter, join } from 'node:path';

const SSHD = '/usr/sbin/sshd';
/** Where sshd that was started by root confines what it does before a login; Debian's service makes it. */
const PRIVILEGE_SEPARATION_FOLDER = '/run/sshd';

/** Why there can be none; undefined if there can. Only root may start one for any command of its own. */
export function whyNoSshServer(): string | undefined {
  if (process.getuid?.() !== 0) {
    return 'an SSH server needs root';
  }
  return existsSync(SSHD) ? undefined : 'OpenSSH is not installed (openssh-server)';
}

export interface SshServer {
  /** `ssh://USER@127.0.0.1:PORT`. */
  readonly url: string;
  /** The private key, without a passphrase. */
  readonly keyFile: string;
  /** A home folder in which the server is a known host. */
  readonly home: string;
  /** `PATH` with an `ssh` that knows the key and the server. */
  readonly path: string;
  stop(): Promise<void>;
}

/** @param env what programs that are started through it get. */
export async function startSshServer(env: Readonly<Record<string, string>>): Promise<SshServer> {
  const folder = mkdtempSync(join(tmpdir(), 'ssh-server-'));
  mkdirSync(PRIVILEGE_SEPARATION_FOLDER, { recursive: true });
  const [hostKey, keyFile] = [join(folder, 'host'), join(folder, 'client')];
  for (const file of [hostKey, keyFile]) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  }
  copyFileSync(`${keyFile}.pub`, join(folder, 'authorized_keys'));
  const port = await freePort();
  const { username } = userInfo();
  const pairs = Object.entries(env).map(([name, value]) => `"${name}=${value}"`);
  const config = [
    `ListenAddress 127.0.0.1:${port}`,
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${join(folder, 'authorized_keys')}`,
    'PidFile none',
    'PermitRootLogin prohibit-password',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'UsePAM no',
    // The temporary folder belongs to everyone.
    'StrictModes no',
    // A suite starts many commands at once.
    'MaxStartups 500',
    'MaxSessions 500',
    ...(pairs.length === 0 ? [] : [`SetEnv ${pairs.join(' ')}`]),
  ];
  writeFileSync(join(folder, 'sshd_config'), `${config.join('\n')}\n`);
  const child = spawn(SSHD, ['-D', '-e', '-f', join(folder, 'sshd_config')], { stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = once(child, 'exit');
  await untilListening(child);
  const home = join(folder, 'home');
  mkdirSync(join(home, '.ssh'), { recursive: true });
  const knownHosts = join(home, '.ssh', 'known_hosts');
  writeFileSync(knownHosts, `[127.0.0.1]:${port} ${readFileSync(`${hostKey}.pub`, 'utf8')}`);
  const client = `-F none -i ${keyFile} -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes`;
  const wrapper = join(folder, 'bin', 'ssh');
  mkdirSync(join(folder, 'bin'));
  writeFileSync(wrapper, `#!/bin/sh\nexec /usr/bin/ssh ${client} -o UserKnownHostsFile=${knownHosts} "$@"\n`);
  chmodSync(wrapper, 0o755);
  return {
    url: `ssh://${username}@127.0.0.1:${port}`,
    keyFile,
    home,
    path: `${join(folder, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`,
    async stop() {
      child.kill('SIGTERM');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function untilListening(child: ChildProcess): Promise<void> {
  let log = '';
  return new Promise((resolve, reject) => {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      if (log.includes('Server listening on')) {
        resolve();
      }
    });
    child.once('exit', () => reject(new Error(`sshd ended: ${log}`)));
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
