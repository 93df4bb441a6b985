import { describe, expect, it } from 'vitest';
import { embeddedStartError, missingFiles } from '../../../../src/engines/embedded/start-failure.ts';

const exit = { exitCode: 1, signal: undefined };

describe('a start that failed', () => {
  it.each([
    [
      'damaged files, whatever the child said',
      { exit, stderrTail: 'CompileError: WebAssembly.Module()', fault: 'python.wasm is missing' },
      'ENGINE_UNAVAILABLE',
      'the files of the embedded engine are damaged: python.wasm is missing',
    ],
    [
      'silence',
      { exit, stderrTail: '', silentMs: 20_000 },
      'ENGINE_FAILED',
      'the embedded engine said nothing for 20 s and was ended: it said nothing',
    ],
    [
      'a Node without WebAssembly',
      { exit, stderrTail: 'ReferenceError: WebAssembly is not defined\n    at child.mjs:1' },
      'ENGINE_UNAVAILABLE',
      `the embedded engine needs WebAssembly, which Node ${process.versions.node} does not offer here`,
    ],
    [
      'no memory',
      { exit, stderrTail: 'RangeError: WebAssembly.Memory(): could not allocate memory' },
      'ENGINE_FAILED',
      'the embedded engine could not get its memory: RangeError: WebAssembly.Memory(): could not allocate memory',
    ],
    [
      'a limit that is too low',
      { exit, stderrTail: '1024 bytes of memory are too few: Python alone has 33554432' },
      'ENGINE_FAILED',
      'the embedded engine did not start: 1024 bytes of memory are too few: Python alone has 33554432',
    ],
    [
      'anything else',
      { exit, stderrTail: 'node: bad option: --permission\n' },
      'ENGINE_FAILED',
      'the embedded engine did not start (exit code 1): node: bad option: --permission',
    ],
    [
      'a signal',
      { exit: { exitCode: undefined, signal: 'SIGSEGV' }, stderrTail: '' },
      'ENGINE_FAILED',
      'the embedded engine did not start (signal SIGSEGV): it said nothing',
    ],
  ])('is explained: %s', (_what, failed, code, message) => {
    const error = embeddedStartError(failed, false);
    expect(error).toMatchObject({ code, message, data: { engine: 'embedded', retryNow: false } });
    expect(error.hint).toMatch(/./);
  });

  it('names the folder that holds no files, and how they come there', () => {
    expect(missingFiles('/opt/bridge/dist/embedded')).toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      message: 'the embedded engine has no files in /opt/bridge/dist/embedded',
      hint: expect.stringContaining('npm run build'),
    });
  });
});
