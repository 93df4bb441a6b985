import { describe, expect, it } from 'vitest';
import { embeddedStartError, missingFiles } from '../../../../src/edges/engines/embedded/start-failure.ts';

const exit = { exitCode: 1, signal: undefined };

describe('a start that failed', () => {
  it.each([
    [
      'damaged files, whatever the child printed',
      { exit, stderrTail: 'CompileError: WebAssembly.Module()', fault: 'python.wasm is missing' },
      'ENGINE_UNAVAILABLE',
      'the files of the embedded engine are damaged: python.wasm is missing',
    ],
    [
      'silence',
      { exit, stderrTail: '', silentMs: 20_000 },
      'ENGINE_FAILED',
      'the embedded engine did not respond for 20 s and was killed: no error output',
    ],
    [
      'a Node without WebAssembly',
      { exit, stderrTail: 'ReferenceError: WebAssembly is not defined\n    at child.cjs:1' },
      'ENGINE_UNAVAILABLE',
      `the embedded engine needs WebAssembly, which Node ${process.versions.node} does not offer here`,
    ],
    [
      'no memory',
      { exit, stderrTail: 'RangeError: WebAssembly.Memory(): could not allocate memory' },
      'ENGINE_FAILED',
      'the embedded engine could not allocate its memory: RangeError: WebAssembly.Memory(): could not allocate memory',
    ],
    [
      'a limit that is too low',
      { exit, stderrTail: 'the memory limit of 1024 bytes is too low: Python needs at least 33554432 bytes' },
      'ENGINE_FAILED',
      'the embedded engine did not start: the memory limit of 1024 bytes is too low: Python needs at least 33554432 bytes',
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
      'the embedded engine did not start (signal SIGSEGV): no error output',
    ],
  ])('is explained: %s', (_what, failed, code, message) => {
    const error = embeddedStartError(failed, false);
    expect(error).toMatchObject({ code, message, data: { engine: 'embedded', retryNow: false } });
    expect(error.hint).toMatch(/./);
  });

  it('names the folder without the files, and how to get them', () => {
    expect(missingFiles('/opt/bridge/dist/embedded')).toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      message: 'the files of the embedded engine are not in /opt/bridge/dist/embedded',
      hint: expect.stringContaining('npm run build'),
    });
  });
});
