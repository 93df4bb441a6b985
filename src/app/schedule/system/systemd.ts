/** A timer of the user's systemd. Quoting: systemd.service(5), "Command lines"; systemd.syntax(7), "Quoting". */
import { isAbsolute, join } from 'node:path';
import { type Planned, type RunTool, type Woken, whyFailed } from './scheduler.ts';

/** `degraded`: some unit of the user has failed. */
const WORKING = /^(?:initializing|starting|running|degraded)$/;
const DESCRIPTION = 'Description=Scheduled runs of mcp-server-code-execution-mode';

export async function planSystemd(woken: Woken, run: RunTool): Promise<Planned> {
  const state = await run(['systemctl', '--user', 'is-system-running']);
  if (!WORKING.test(state.stdout.toString('utf8').trim())) {
    return { why: `systemd runs no services for your user here: ${whyFailed(state)}` };
  }
  const linger = await run(['loginctl', 'show-user', String(process.getuid?.()), '--property=Linger']);
  const isLingering = linger.stdout.toString('utf8').trim() === 'Linger=yes';
  const config = process.env['XDG_CONFIG_HOME'] ?? '';
  const folder = join(isAbsolute(config) ? config : join(woken.home, '.config'), 'systemd', 'user');
  const [service, timer] = [`${woken.id}.service`, `${woken.id}.timer`];
  return {
    name: 'systemd',
    files: [
      { path: join(folder, service), text: renderService(woken) },
      { path: join(folder, timer), text: TIMER },
    ],
    start: [
      ['systemctl', '--user', 'daemon-reload'],
      ['systemctl', '--user', 'enable', '--now', timer],
    ],
    checks: ['is-enabled', 'is-active'].map((check) => ['systemctl', '--user', '--quiet', check, timer]),
    stop: [['systemctl', '--user', 'disable', '--now', timer]],
    notes: [
      isLingering
        ? 'It also works while you are not logged in.'
        : 'It works while you are logged in. To let it work at all times, run: loginctl enable-linger',
      `To see its output, run: journalctl --user --unit ${service}`,
    ],
  };
}

/** `Persistent=` would make up for missed minutes, which the command does itself. */
const TIMER = `[Unit]
${DESCRIPTION}
[Timer]
OnCalendar=minutely
AccuracySec=1s
Persistent=false
[Install]
WantedBy=timers.target
`;

/**
 * systemd refuses a program with quotes or backslashes in its path, so a shell starts it. Below the level `notice`, systemd would log
 * three lines each minute; the output of the command is logged at it.
 */
function renderService({ command, env }: Woken): string {
  const words = ['/bin/sh', '-c', 'exec "$0" "$@"', ...command].map((word) => quote(word).replaceAll('$', '$$$$'));
  const variables = Object.entries(env).map(([name, value]) => `Environment=${quote(`${name}=${value}`)}\n`);
  return `[Unit]
${DESCRIPTION}
[Service]
Type=oneshot
ExecStart=${words.join(' ')}
${variables.join('')}SyslogLevel=notice
LogLevelMax=notice
`;
}

/** The escapes of JSON are among those of systemd, which also replaces specifiers such as `%h`, and `$NAME` in arguments. */
function quote(word: string): string {
  return JSON.stringify(word).replaceAll('%', '%%');
}
