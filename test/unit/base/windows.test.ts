import { describe, expect, it } from 'vitest';
import { systemProgram, windowsCommand } from '../../../src/core/base/windows.ts';

const env = { Path: 'C:\\node;C:\\tools', PATHEXT: '.COM;.EXE;.BAT;.CMD', ComSpec: 'C:\\Windows\\cmd.exe' };
const files = new Set(['C:\\node\\npx.CMD', 'C:\\tools\\server.EXE', 'C:\\with space\\run.bat', 'C:\\tools\\name.cmd']);
const run = (command: string, ...args: string[]) => windowsCommand(command, args, env, (path) => files.has(path));

describe('on Windows', () => {
  it('finds a program with the extensions of PATHEXT', () => {
    expect(run('server', 'a b')).toEqual({ command: 'C:\\tools\\server.EXE', args: ['a b'], isVerbatim: false });
    expect(run('server.EXE')).toMatchObject({ command: 'C:\\tools\\server.EXE' });
  });

  it('never lets Windows look up a name, because it would look in the working directory first', () => {
    expect(() => run('missing', 'x')).toThrow('spawn missing ENOENT');
    expect(run('C:\\gone\\server', 'x')).toEqual({ command: 'C:\\gone\\server', args: ['x'], isVerbatim: false });
    const here = { PATH: '.;tools;C:\\node', PATHEXT: '.JS;.CMD' };
    const found = ['npx.CMD', 'tools\\npx.CMD', 'C:\\node\\npx.JS', 'C:\\node\\npx.CMD'];
    expect(windowsCommand('npx', [], here, (path) => found.includes(path)).args.at(-1)).toBe('"C:\\node\\npx.CMD"');
  });

  it("names the system's programs by their full path", () => {
    expect(systemProgram('taskkill.exe', { SystemRoot: 'D:\\Win' })).toBe('D:\\Win\\System32\\taskkill.exe');
    expect(systemProgram('cmd.exe', {})).toBe('C:\\Windows\\System32\\cmd.exe');
  });

  it('runs a batch file with cmd.exe', () => {
    expect(run('npx', '-y')).toEqual({
      command: 'C:\\Windows\\cmd.exe',
      args: ['/d', '/s', '/c', '"C:\\node\\npx.CMD ^^^"-y^^^""'],
      isVerbatim: true,
    });
    expect(run('C:\\with space\\run.bat').args.at(-1)).toBe('"C:\\with^ space\\run.bat"');
    expect(run('name.cmd').command).toBe('C:\\Windows\\cmd.exe');
  });

  it.each([
    ['a&b', '^^^"a^^^&b^^^"'],
    ['%PATH%', '^^^"^^^%PATH^^^%^^^"'],
    ['say "hi"', '^^^"say^^^ \\^^^"hi\\^^^"^^^"'],
    ['C:\\dir\\', '^^^"C:\\dir\\\\^^^"'],
  ])('escapes everything in %s that cmd.exe would interpret', (argument, escaped) => {
    expect(run('npx', argument).args.at(-1)).toBe(`"C:\\node\\npx.CMD ${escaped}"`);
  });
});
