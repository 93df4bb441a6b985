/** What an engine without threads and processes tells code that needs them: the reason and the alternative. */
import { describe, expect, it } from 'vitest';
import type { Capability } from '../../support/capabilities.ts';
import { errorText } from '../../support/session-harness.ts';
import type { Subject } from './subject.ts';

const WAY_OUT =
  'needs a container engine: install Podman or Docker, or choose an installed one with MCP_BRIDGE_RUNTIME';
const THREADS = /RuntimeError: threads are not available in the embedded sandbox; use asyncio\.gather/;
const PROCESSES = /(OSError|AttributeError): .*the embedded sandbox cannot start processes/;
const SOCKETS = /OSError.* sockets are not available in the embedded sandbox, and no sandbox has a network/;

/** @param lacks what the engine lacks. Stand-ins for modules are made where these really are missing. */
export function describeMissing({ run }: Subject, lacks: readonly Capability[]): void {
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

  describe.runIf(lacks.includes('ctypes'))('what stands for missing modules', () => {
    // Packages of pure Python import these and need little of them: sympy, xlrd, PyJWT, geopy, pint and httpx could not be imported.
    it('has a stand-in where programs of pure Python can work with less', async () => {
      const ssl =
        'import asyncio, ssl\ncontext = ssl.create_default_context()\ncontext.check_hostname = False\ncontext.verify_mode = ssl.CERT_NONE\ncontext.load_verify_locations(cadata="")\n(context.verify_mode.name, ssl.TLSVersion.TLSv1_2 in [context.minimum_version], asyncio.sslproto.ssl)';
      expect((await run(ssl)).value).toBe(`('CERT_NONE', True, None)`);
      const connecting = 'context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO())';
      expect(errorText(await run(connecting))).toMatch(SOCKETS);
      expect(errorText(await run('import smtplib\nsmtplib.SMTP_SSL("127.0.0.1")'))).toMatch(SOCKETS);

      const map = [
        'import mmap, re, struct',
        'open("mapped", "wb").write(b"one\\ntwo\\n")',
        'file = open("mapped", "r+b")',
        'with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as m:',
        '    found = m[:3], m.readline(), m.find(b"two"), re.search(b"t(.)", m)[1], struct.unpack_from("<H", m)[0], len(m)',
        'copy = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)',
        'copy[0:3] = b"ONE"',
        '(found, copy[:4], open("mapped").read())',
      ].join('\n');
      expect((await run(map)).value).toBe(String.raw`((b'one', b'one\n', 4, b'w', 28271, 8), b'ONE\n', 'one\ntwo\n')`);
      expect(errorText(await run('mmap.mmap(file.fileno(), 0)'))).toContain('maps files only for reading');

      const user = 'import os\nos.getuid() == os.stat("mapped").st_uid, hasattr(os, "geteuid")';
      expect((await run(user)).value).toBe('(True, False)');
      const nothing =
        'import os\nwith open(os.devnull, "w") as sink:\n    print("x" * 100_000, file=sink)\nopen(os.devnull).read()';
      expect((await run(nothing)).value).toBe("''");
    });

    // dill would take a part of it for PyPy; without it, dill works.
    it('has no ctypes, except for a module that asks for the size of a number', async () => {
      const code = [
        'import importlib, os, sys',
        'os.makedirs("sympy/external", exist_ok=True)',
        'open("sympy/__init__.py", "w").close(), open("sympy/external/__init__.py", "w").close()',
        'open("sympy/external/gmpy.py", "w").write("from ctypes import c_long, sizeof\\nimport json\\nBITS = 8 * sizeof(c_long)")',
        'importlib.invalidate_caches()',
        'import sympy.external.gmpy',
        'sympy.external.gmpy.BITS, "ctypes" in sys.modules',
      ].join('\n');
      expect((await run(code)).value).toBe('(32, False)');
      expect(errorText(await run('import ctypes'))).toContain('ctypes is not available in the embedded sandbox');
    });
  });
}
