/** Installs one package in a session of its own, and does its line of work. */
import type { BridgeClient } from '../../test/support/bridge-client.ts';
import { LINES } from './lines.ts';
import type { TriedPackage } from './table.ts';

/** What the package and all that it needs take on the disk, and what its import adds to the memory of the session. */
const MEASURE = `
import os, sys
from importlib import metadata
def _memory():
    try:
        with open('/proc/self/status') as file:
            return next(int(line.split()[1]) for line in file if line.startswith('VmRSS'))
    except FileNotFoundError:
        return None
_folders = [path for path in sys.path if path.startswith('/packages/')]
_bytes = sum(os.path.getsize(os.path.join(folder, name)) for path in _folders for folder, _, names in os.walk(path) for name in names)
_before = _memory()
`;
const KIB_PER_MIB = 1024;

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
  const seconds = rounded((performance.now() - startedAt) / 1000);
  const work = installed.isRight ? await run(`${MEASURE}\n${imports}\n_after = _memory()\nassert ${claim}`) : installed;
  const facts = work.isRight
    ? await run(
        `print(metadata.version(${JSON.stringify(name)}), _bytes / 1024, *([] if _before is None else [_after - _before]))`,
      )
    : work;
  await run('await runtime.reset()').catch(() => undefined);
  if (!facts.isRight) {
    return { isWorking: false, reason: reasonOf(facts.text), seconds };
  }
  const [version = '', ...kibibytes] = facts.text.split(' ');
  const [mib = 0, memoryMib] = kibibytes.map((text) => rounded(Number(text) / KIB_PER_MIB));
  return { isWorking: true, version, mib, ...(memoryMib === undefined ? {} : { memoryMib }), seconds };
}

function rounded(value: number): number {
  return Number(value.toFixed(1));
}

/** The line with the error. */
function reasonOf(text: string): string {
  const lines = text.split('\n').filter((line) => /Error|:/.test(line) && !/^(?:status|exit|Hint):/.test(line));
  return (lines.at(-1) ?? text).replace(/^\S*MCPError: [A-Z_]+: /, '').slice(0, 300);
}
