/** A task of the Task Scheduler of Windows: "Task Scheduler Schema" in Microsoft's documentation. */
import { join } from 'node:path';
import { systemProgram } from '../../../core/base/windows.ts';
import { escapeXml, type Planned, RECORD, type Woken } from './scheduler.ts';

export async function planTask({ command: [node = ''], home, id, stateDir }: Woken): Promise<Planned> {
  const fileOf = (end: string): string => join(stateDir, `system-scheduler.${end}`);
  const [script, definition] = [fileOf('mjs'), fileOf('xml')];
  const args = `--headless "${node}" "${script}"`;
  if (/%|\$\(/.test(args)) {
    return { why: `the Task Scheduler would replace '%' or '$(' in a path: ${args}` };
  }
  const schtasks = systemProgram('schtasks.exe', process.env);
  return {
    name: 'the Task Scheduler',
    files: [
      { path: script, text: SCRIPT },
      { path: definition, text: renderTask(systemProgram('conhost.exe', process.env), args, home), isUtf16: true },
    ],
    start: [[schtasks, '/Create', '/TN', id, '/XML', definition, '/F']],
    checks: [[schtasks, '/Query', '/TN', id]],
    stop: [[schtasks, '/Delete', '/TN', id, '/F']],
    output: fileOf('log'),
    notes: ['It works while you are logged in.'],
  };
}

/** A task has no variables of its own, so Node sets them. It is written to the state directory. */
const SCRIPT = `import { spawnSync } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';

const beside = (path) => new URL(path, import.meta.url);
const { command: [program, ...args], env } = JSON.parse(readFileSync(beside('${RECORD}'), 'utf8'));
const output = openSync(beside('system-scheduler.log'), 'w');
Object.assign(process.env, env);
spawnSync(program, args, { stdio: ['ignore', output, output], windowsHide: true });
`;

/**
 * conhost has no window itself and gives Node a console that is never shown; otherwise, a window would flash each minute. The task runs
 * as minutes of local time begin, from one in the past.
 */
function renderTask(program: string, args: string, folder: string): string {
  return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>Scheduled runs of mcp-server-code-execution-mode</Description></RegistrationInfo>
  <Triggers>
    <TimeTrigger>
      <Repetition><Interval>PT1M</Interval></Repetition>
      <StartBoundary>2026-01-01T00:00:00</StartBoundary>
    </TimeTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author"><LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel></Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>${escapeXml(program)}</Command>
      <Arguments>${escapeXml(args)}</Arguments>
      <WorkingDirectory>${escapeXml(folder)}</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
`;
}
