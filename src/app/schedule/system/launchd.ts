/** An agent of the user's launchd: launchd.plist(5). */
import { join } from 'node:path';
import { escapeXml, isSuccess, type Planned, type RunTool, type Woken } from './scheduler.ts';

export async function planLaunchd(woken: Woken, run: RunTool): Promise<Planned> {
  const domain = `gui/${process.getuid?.()}`;
  if (!isSuccess(await run(['launchctl', 'print', domain]))) {
    return { why: 'launchd runs agents only for users who are logged in at the screen of the Mac' };
  }
  const service = `${domain}/${woken.id}`;
  const path = join(woken.home, 'Library', 'LaunchAgents', `${woken.id}.plist`);
  const output = join(woken.stateDir, 'system-scheduler.log');
  return {
    name: 'launchd',
    files: [{ path, text: renderAgent(woken, output) }],
    // An agent that was disabled once cannot be bootstrapped.
    start: [
      ['launchctl', 'enable', service],
      ['launchctl', 'bootstrap', domain, path],
    ],
    checks: [['launchctl', 'print', service]],
    stop: [['launchctl', 'bootout', service]],
    output,
    notes: ['It works while you are logged in.'],
  };
}

/** launchd itself would append to the file for ever; the shell empties it first. */
function renderAgent({ command, env, home, id }: Woken, output: string): string {
  const words = ['/bin/sh', '-c', 'exec "$@" >"$0" 2>&1', output, ...command];
  const lines = words.map((word) => `    <string>${escapeXml(word)}</string>\n`);
  const variables = Object.entries(env).map(
    ([name, value]) => `    <key>${escapeXml(name)}</key><string>${escapeXml(value)}</string>\n`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${id}</string>
  <key>ProgramArguments</key>
  <array>
${lines.join('')}  </array>
  <key>EnvironmentVariables</key>
  <dict>
${variables.join('')}  </dict>
  <key>WorkingDirectory</key><string>${escapeXml(home)}</string>
  <key>StartInterval</key><integer>60</integer>
</dict>
</plist>
`;
}
