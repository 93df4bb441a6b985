// @ts-check
/** Which container engines this machine can test on. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** A daemon that does not answer in this time is as good as none; healthy ones need well under a second. */
const PROBE_TIMEOUT_MS = 20_000;

/** A command per engine that succeeds only if the engine itself answers, not just its client. */
const PROBES = {
  podman: ['info', '--format', '{{.Version.Version}}'],
  docker: ['version', '--format', '{{.Server.Version}}'],
};

/** @typedef {keyof typeof PROBES} TestedEngine */

export const TESTED_ENGINES = /** @type {readonly TestedEngine[]} */ (Object.keys(PROBES));

/**
 * Why `name` cannot be used here, in one line; undefined if it can.
 * @param {TestedEngine} name
 * @returns {Promise<string | undefined>}
 */
export async function whyMissing(name) {
  try {
    await promisify(execFile)(name, PROBES[name], { timeout: PROBE_TIMEOUT_MS });
    return undefined;
  } catch (error) {
    const { code, stderr } = /** @type {{ code?: string | number, stderr?: string }} */ (error);
    return code === 'ENOENT' ? 'not installed' : (stderr?.trim().split('\n')[0] ?? `exit code ${code}`);
  }
}

/** @returns {Promise<{ name: TestedEngine, reason: string }[]>} */
export async function missingEngines() {
  const probed = await Promise.all(TESTED_ENGINES.map(async (name) => ({ name, reason: await whyMissing(name) })));
  return probed.flatMap(({ name, reason }) => (reason === undefined ? [] : { name, reason }));
}
