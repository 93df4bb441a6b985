import { describe, expect, it } from 'vitest';
import { meetsMarker, parseDependency } from '../../../../src/features/packages/pure/markers.ts';
import { cpuTimeOf } from '../../../support/cpu-time.ts';

describe('a line of Requires-Dist', () => {
  it.each([
    ['mpmath<1.4,>=1.1.0', { name: 'mpmath', extras: [], specifier: '<1.4,>=1.1.0', marker: '' }],
    ['Et_Xmlfile', { name: 'et-xmlfile', extras: [], specifier: '', marker: '' }],
    ['requests [socks] (>=2.1)', { name: 'requests', extras: ['socks'], specifier: '>=2.1', marker: '' }],
    [
      'typing-extensions>=4; python_version < "3.11"',
      { name: 'typing-extensions', extras: [], specifier: '>=4', marker: 'python_version < "3.11"' },
    ],
  ])('%s', (line, expected) => {
    expect(parseDependency(line)).toEqual(expected);
  });

  it.each(['pip @ https://example.com/pip.whl', '-e .', '', 'a b', 'a>=', `a${' '.repeat(5_000)}`])(
    'refuses %j',
    (line) => {
      expect(parseDependency(line)).toBeUndefined();
    },
  );

  it.each([`a${' '.repeat(150)}@`, `a${' '.repeat(150)}[x]${' '.repeat(150)}@`])(
    'takes no time over many spaces',
    (line) => {
      expect(cpuTimeOf(() => expect(parseDependency(line)).toBeUndefined())).toBeLessThan(50);
    },
  );
});

describe('a marker', () => {
  const values = {
    python_version: '3.14',
    python_full_version: '3.14.0',
    sys_platform: 'wasi',
    platform_machine: 'wasm32',
    os_name: 'posix',
    extra: 'excel',
  };

  it.each([
    ['python_version < "3.11"', false],
    ['python_version >= "3.9"', true],
    ["'3.9' <= python_version", true],
    ['sys_platform == "win32"', false],
    ['sys_platform != "win32" and python_full_version >= "3.8.1"', true],
    ['extra == "excel"', true],
    ['extra == "Excel"', true],
    ['"EXCEL" == extra', true],
    ['extra != "Excel"', false],
    ['extra == "all" or (extra == "excel" and os_name == "posix")', true],
    ['platform_machine in "x86_64 wasm32"', true],
    ['platform_machine not in "x86_64 aarch64"', true],
    ['python_version in "2.7"', false],
    ['sys_platform > "a"', false],
    // Not markers.
    ['unknown_variable == "1"', undefined],
    ['python_version', undefined],
    ['python_version < "3" extra', undefined],
    ['python_version ? "3"', undefined],
    ['(python_version < "3"', undefined],
    ['('.repeat(100) + 'os_name == "posix"' + ')'.repeat(100), undefined],
    ['', undefined],
  ])('%s', (marker, expected) => {
    expect(meetsMarker(marker, values)).toBe(expected);
  });
});
