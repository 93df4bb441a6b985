/** What an engine without threads and processes tells code that needs them: the reason and the alternative. */
import { describe, expect, it } from 'vitest';
import { errorText } from '../../support/session-harness.ts';
import type { Subject } from './subject.ts';

const WAY_OUT =
  'needs a container engine: install Podman or Docker, or choose an installed one with MCP_BRIDGE_RUNTIME';
const THREADS = /RuntimeError: threads are not available in the embedded sandbox; use asyncio\.gather/;
const PROCESSES = /(OSError|AttributeError): .*the embedded sandbox cannot start processes/;
const SOCKETS = /OSError.* sockets are not available in the embedded sandbox, and no sandbox has a network/;

export function describeMissing({ run }: Subject): void {
  describe('what is missing', () => {
    it.each([
      ['a thread', 'import threading\nthreading.Thread(target=print).start()', THREADS],
      ['a timer', 'import threading\nthreading.Timer(1, print).start()', THREADS],
      ['a thread of the low level', 'import _thread\n_thread.start_new_thread(print, ())', THREADS],
      ['to_thread', 'import asyncio\nawait asyncio.to_thread(print)', THREADS],
      ['an executor', 'from concurrent.futures import *\nThreadPoolExecutor().submit(print)', THREADS],
      [
        'an executor of the loop',
        'import asyncio\nawait asyncio.get_running_loop().run_in_executor(None, print)',
        THREADS,
      ],
      ['os.fork', 'import os\nos.fork()', PROCESSES],
      ['os.system', 'import os\nos.system("true")', PROCESSES],
      ['os.popen', 'import os\nos.popen("true")', PROCESSES],
      ['os.execv', 'import os\nos.execv("/bin/true", ["true"])', PROCESSES],
      ['subprocess', 'import subprocess\nsubprocess.run(["true"])', PROCESSES],
      ['a subprocess of asyncio', 'import asyncio\nawait asyncio.create_subprocess_exec("true")', PROCESSES],
      ['a socket', 'import socket\nsocket.socket()', SOCKETS],
      ['a name to look up', 'import socket\nsocket.gethostbyname("localhost")', SOCKETS],
      ['a connection', 'import asyncio\nawait asyncio.open_connection("127.0.0.1", 80)', SOCKETS],
      ['http', 'import urllib.request\nurllib.request.urlopen("http://127.0.0.1/")', SOCKETS],
      ['https', 'import urllib.request\nurllib.request.urlopen("https://127.0.0.1/")', SOCKETS],
    ])('is explained to code that needs %s', async (_, code, reason) => {
      const answer = await run(code);
      const { status } = answer;
      const error = errorText(answer);
      expect(status).toBe('error');
      expect(error).toMatch(reason);
      expect(error).toContain(WAY_OUT);
    });

    it('is neither attribute nor module for code that checks first', async () => {
      const code = 'import importlib.util, os\nhasattr(os, "fork"), importlib.util.find_spec("no_such_package")';
      expect((await run(code)).value).toBe('(False, None)');
    });

    it('does not change the error for a wrong name', async () => {
      const error = errorText(await run('import os\nos.getcwdd'));
      expect(error).toContain("module 'os' has no attribute 'getcwdd'");
      expect(error).not.toContain('container engine');
      expect(errorText(await run('import xml.nothing'))).toContain(
        "ModuleNotFoundError: No module named 'xml.nothing'",
      );
    });
  });
}
