/** Finds the scheduler of the operating system, which wakes `schedule tick` each minute. */
import { runProcess } from '../../../core/base/run-process.ts';
import { variableOf } from '../../../core/base/windows.ts';
import { hashText } from '../../../core/state/file-consents.ts';
import { planLaunchd } from './launchd.ts';
import { PlannedScheduler, type RunTool, type SystemScheduler, type Woken } from './scheduler.ts';
import { planSystemd } from './systemd.ts';
import { planTask } from './task-scheduler.ts';

interface FindOptions extends Omit<Woken, 'id'> {
  readonly platform?: NodeJS.Platform;
  readonly run?: RunTool;
}

const PLANS = { linux: planSystemd, darwin: planLaunchd, win32: planTask };
/** The programs end within a second. Chosen. */
const LIMIT_MS = 60_000;
/** `launchctl print` describes everything that is loaded. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Neither a plist nor a unit can hold them. */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/;

/**
 * The scheduler of this machine, or why none works for this user. `PATH` is added to `env`, because scheduled runs start servers with
 * programs such as `npx`.
 */
export async function findSystemScheduler(options: FindOptions): Promise<SystemScheduler | { readonly why: string }> {
  const { command, platform = process.platform, run = runTool, stateDir } = options;
  const env = { PATH: variableOf(process.env, 'PATH') ?? '', ...options.env };
  const invalid = [...command, ...Object.entries(env).flat()].find((text) => CONTROL.test(text));
  if (invalid !== undefined) {
    return { why: `it cannot pass on a control character, as in ${JSON.stringify(invalid)}` };
  }
  const woken = { ...options, env, id: `mcp-code-schedules-${hashText(stateDir).slice(0, 12)}` };
  const plan = Object.hasOwn(PLANS, platform)
    ? await PLANS[platform as keyof typeof PLANS](woken, run)
    : { why: `no scheduler of ${platform} is known` };
  return 'why' in plan ? plan : new PlannedScheduler(plan, woken, run);
}

const runTool: RunTool = (words) =>
  runProcess(words, { env: process.env, deadlineMs: LIMIT_MS, maxOutputBytes: MAX_OUTPUT_BYTES });
