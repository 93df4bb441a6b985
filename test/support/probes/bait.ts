/** Things on the host that code in a sandbox must not find, and secrets where an engine may pick them up. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestEngine } from '../engines.ts';

const SECRETS = { API_TOKEN: 'bait-token-61f0', HTTP_PROXY: 'http://user:bait-password-93ab@proxy.example:3128' };

export interface Bait {
  /** What the probes get to know, so that they can look for it. */
  readonly known: Readonly<Record<string, unknown>>;
  /** A configuration folder of Docker with a proxy and its password. */
  readonly dockerConfig: string;
  remove(): Promise<void>;
}

/** Creates the bait: files, and servers on the loopback address and on an abstract socket. */
export async function layBait(): Promise<Bait> {
  const folders = [tmpdir(), homedir()].map((place) => mkdtempSync(join(place, '.bridge-bait-')));
  const files = folders.map((folder) => join(folder, 'config.json'));
  const proxies = { default: { httpProxy: SECRETS.HTTP_PROXY, httpsProxy: SECRETS.HTTP_PROXY } };
  for (const file of files) {
    writeFileSync(file, JSON.stringify({ proxies }));
  }
  const abstractSocket = `bridge-bait-${process.pid}`;
  const servers = [await listen({ host: '127.0.0.1', port: 0 }), await listen({ path: `\0${abstractSocket}` })];
  const address = servers[0]?.address();
  return {
    known: {
      files,
      port: typeof address === 'object' ? address?.port : undefined,
      abstract_socket: abstractSocket,
      process: process.env['VITEST'] === undefined ? 'scripts/probes' : 'vitest',
      secrets: ['bait-token-61f0', 'bait-password-93ab'],
    },
    dockerConfig: folders[0] ?? '',
    async remove() {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
      folders.forEach((folder) => rmSync(folder, { recursive: true }));
    },
  };
}

/** Secrets where an engine may pick them up: in the environment and in Docker's configuration. */
export function hostEnvironment(engine: TestEngine, { dockerConfig }: Bait): Record<string, string> {
  const secrets = { ...engine.env, ...SECRETS, https_proxy: SECRETS.HTTP_PROXY };
  return engine.name === 'docker' ? { ...secrets, DOCKER_CONFIG: dockerConfig } : secrets;
}

function listen(where: { host: string; port: number } | { path: string }): Promise<Server> {
  const server = createServer((connection) => connection.on('error', () => undefined).end('bait'));
  return new Promise((resolve) => {
    server.listen(where, () => resolve(server));
  });
}
