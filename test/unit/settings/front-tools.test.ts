import { expect, it } from 'vitest';
import { parseFrontTools } from '../../../src/edges/settings/front-tools.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';

it('keeps the order, and each name once', () => {
  expect(parseFrontTools(' sessions, run_python,executer,,sessions ')).toEqual(['sessions', 'run_python', 'executer']);
});

it.each([
  ['executecod', "there is no tool 'executecod'; did you mean execute_code?"],
  ['Run-Python', "there is no tool 'Run-Python'; did you mean run_python?"],
  ['session', "there is no tool 'session'; did you mean sessions?"],
  ['start_code_executer', "there is no tool 'start_code_executer'; did you mean executer?"],
  ['bash', "there is no tool 'bash'"],
  ['x', "there is no tool 'x'"],
  [' , ', 'it names no tool'],
])('refuses %j', (text, message) => {
  expect(() => parseFrontTools(text)).toThrow(new Error(message));
});

it('is refused by the settings with the names that there are', () => {
  expect(() => loadSettings({ HOME: '/home/ada', MCP_BRIDGE_TOOLS: 'run_python,sesions' })).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message:
        "MCP_BRIDGE_TOOLS is 'run_python,sesions' (there is no tool 'sesions'; did you mean sessions?); " +
        'allowed: a comma-separated list of run_python, execute_code, executer, sessions.',
    }),
  );
});
