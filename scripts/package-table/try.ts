/** Installs one package in a session of its own, and does its line of work. */
import type { BridgeClient } from '../../test/support/bridge-client.ts';
import { LINES } from './lines.ts';
import type { TriedPackage } from './table.ts';

/** What the package and all that it needs take on the disk, and what its import adds to the memory of the session. */
const MEASURE = `
import os, sys
from importlib import metadata
def _status(key):
    with open('/proc/self/status') as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key))
_folders = [path for path in sys.path if path.startswith('/packages/')]
_bytes = sum(os.path.getsize(os.path.join(folder, name)) for path in _folders for folder, _, names in os.walk(path) for name in names)
_before = _status('VmRSS')
`;

export async function tryPackage(bridge: Pick<BridgeClient, 'runPython'>, name: string): Promise<TriedPackage> {
  const session = `try-${name}`;
  const [imports = '', claim = ''] = LINES[name] ?? [];
  const run = async (code: string) => {
    const { structured, text } = await bridge.runPython(code, { session, timeout: 900 }, { timeout: 1_000_000 });
    return { isRight: structured['status'] === undefined, text: text.trim() };
  };
  // The session itself starts before.
  await run('pass');
  const startedAt = performance.now();
  const installed = await run(`await runtime.install(${JSON.stringify(name)})`);
  const seconds = (performance.now() - startedAt) / 1000;
  const work = installed.isRight
    ? await run(`${MEASURE}\n${imports}\n_after = _status('VmRSS')\nassert ${claim}`)
    : installed;
  const facts = work.isRight
    ? await run(`print(metadata.version(${JSON.stringify(name)}), _bytes, _after - _before)`)
    : work;
  await run('await runtime.reset()').catch(() => undefined);
  if (!facts.isRight) {
    return { isWorking: false, reason: reasonOf(facts.text), seconds };
  }
  const [version = '', bytes, kibibytes] = facts.text.split(' ');
  return { isWorking: true, version, bytes: Number(bytes), memoryBytes: Number(kibibytes) * 1024, seconds };
}

/** The line with the error. */
function reasonOf(text: string): string {
  const lines = text.split('\n').filter((line) => /Error|:/.test(line) && !/^(?:status|exit|Hint):/.test(line));
  return (lines.at(-1) ?? text).slice(0, 300);
}
