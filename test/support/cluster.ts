/** For tests on a cluster of Kubernetes: users with fewer rights, and waiting for what others do. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { TestEngine } from './engines.ts';
import { pause } from './pause.ts';

/** The configuration of `kubectl` changed and written to `file`, as options of an engine. */
export function configuredAs(file: string, change: (config: string) => string) {
  writeFileSync(file, change(readFileSync(process.env['KUBECONFIG'] ?? '', 'utf8')));
  return { env: { ...process.env, KUBECONFIG: file } };
}

/** A user that is known by a token, instead of the administrator. */
export function withToken(token: string): (config: string) => string {
  return (config) => config.replace(/client-certificate-data: .*\n\s*client-key-data: .*/, `token: ${token}`);
}

/** The token of a ServiceAccount, which the cluster makes (before Kubernetes 1.24). */
export async function tokenOf(engine: TestEngine, account: string, namespace: string): Promise<string> {
  const where = `--namespace=${namespace}`;
  const secretName = async (): Promise<string> =>
    (await engine.run('get', 'serviceaccount', account, where, '--output=jsonpath={.secrets[0].name}')).stdout;
  await until(async () => (await secretName()) !== '', 20_000);
  const { stdout } = await engine.run('get', 'secret', await secretName(), where, '--output=jsonpath={.data.token}');
  return Buffer.from(stdout, 'base64').toString('utf8');
}

/** Whether a Pod is gone, or has ended and is about to: kubelets take their time to report the end. */
export async function isDeleted(engine: TestEngine, pod: string): Promise<boolean> {
  const format = '--output=jsonpath={.status.phase} {.metadata.deletionTimestamp}';
  const { stdout } = await engine.run('get', 'pod', pod, '--ignore-not-found', format);
  return stdout === '' || /\d/.test(stdout);
}

export async function until(applies: () => Promise<boolean>, limitMs: number): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await applies())) {
    expect(performance.now()).toBeLessThan(end);
    await pause(300, 'nothing reports what another program sees of the cluster');
  }
}
