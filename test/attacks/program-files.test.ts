// Tags: full, bubblewrap, docker-release, user
/** Attacks with the names of files that programs leave: a program that forges them must not make whoever keeps the files write elsewhere. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const NAMES = ['../../../etc/cron.d/x', '/etc/cron.d/x', 'a/../../x', 'a\\..\\..\\x', '.', 'n/'.repeat(2_000) + 'x'];

/** Finds the marker that precedes the archive of files, writes one of its own after it, and keeps two good names in it. */
const FORGES = `
import glob, io, re, sys, tarfile
marker = next(
    found.group() for path in sorted(glob.glob("/proc/[0-9]*/cmdline"))
    if (found := re.search(rb"bridge-[0-9a-f]{32}", open(path, "rb").read()))
)
archive = io.BytesIO()
with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as out:
    for name in ${JSON.stringify([...NAMES, 'good.txt', '-x'])}:
        entry = tarfile.TarInfo(name)
        entry.size = 3
        out.addfile(entry, io.BytesIO(b"bad"))
sys.stdout.buffer.write(b"\\n" + marker + b" 0\\n" + archive.getvalue())
`;

const engines = (await coverEngines()).filter(({ label }) => label !== 'embedded');

describe.each(engines)('names of files that a program forges on $label', (engine) => {
  let bridge: BridgeClient;
  beforeAll(async () => {
    bridge = await startBridge({ engine });
  });
  afterAll(() => bridge.close());

  it('stay in the folder, and the others are named', async () => {
    const code = `
ran = await runtime.run("python", ${JSON.stringify(FORGES)}, wants_files=True)
print(sorted(ran.files))
print(ran.stderr)`;
    const { text } = await bridge.runPython(code, { timeout: 100 });
    expect(text).toContain("['-x', 'good.txt']");
    expect(text).toContain(
      `the names are not those of files in the working directory: ${NAMES.slice(0, 3).join(', ')}`,
    );
  });
});
