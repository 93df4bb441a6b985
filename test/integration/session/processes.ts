/** What processes of a cell can do to the machine and to the supervisor. */
import { expect } from 'vitest';
import type { ItNeeds } from '../../support/capabilities.ts';
import { errorText, type Harness } from '../../support/session-harness.ts';

export function describeProcesses(harness: () => Harness, itNeeds: ItNeeds): void {
  itNeeds('child processes')('limits the total memory of many processes', async () => {
    const code = [
      'import os, time',
      'for _ in range(8):',
      '    if os.fork() == 0:',
      '        block = b"x" * 60_000_000',
      '        time.sleep(60)',
      '        os._exit(0)',
      'time.sleep(2)',
      'total = 0',
      'for entry in os.listdir("/proc"):',
      '    try: total += int(open(f"/proc/{entry}/smaps_rollup").read().split("Pss:")[1].split()[0]) * 1024',
      '    except (OSError, IndexError): pass',
      'total < 280_000_000',
    ];
    const answer = await harness().run(code.join('\n'), { session: 'many', timeoutMs: 30_000 });
    expect(answer.value ?? errorText(answer)).toMatch(/True|out of memory/);
  });

  itNeeds('child processes')('stops a fork bomb', async () => {
    await harness().run('1', { session: 'bomb' }); // The two seconds of the next cell do not include the start.
    const code = 'import os\nwhile True:\n    try: os.fork()\n    except OSError: pass';
    const answer = await harness().run(code, { session: 'bomb', timeoutMs: 2_000 });
    expect(['timeout', 'error']).toContain(answer.status);
    expect((await harness().run('1', { session: 'bomb' })).value).toBe('1');
  });

  itNeeds('ctypes')('gives cells no access to the supervisor', async () => {
    const code = [
      'import os, ctypes',
      'tried = []',
      'for path in ("/proc/1/mem", "/proc/1/fd/2", "/proc/1/environ"):',
      '    try: os.open(path, os.O_RDWR); tried.append(path)',
      '    except OSError: pass',
      'libc = ctypes.CDLL(None, use_errno=True)',
      'tried += [n for n, r in (("ptrace", libc.ptrace(16, 1, 0, 0)), ("unshare", libc.unshare(0x10000000))) if r != -1]',
      'try: os.kill(1, 9)',
      'except OSError: pass',
      'tried',
    ];
    expect((await harness().run(code.join('\n'))).value).toBe('[]');
  });
}
