/**
 * Stops the servers of a bridge that was killed with SIGKILL. A bridge that shuts down stops its servers itself, and most
 * servers exit when their stdin ends; the others would run forever. One small shell process per bridge, in its own session,
 * reads the ids of the process groups and stops those still listed when its stdin ends. A group that has ended is removed from
 * the list at once, because its id can be reused. A server that leaves its group and ignores the end of stdin survives, as it
 * survives a normal shutdown. `PR_SET_PDEATHSIG` would reach only the direct child, not the server behind `sh` or `npx`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { messageOf } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import { LEADS_GROUP } from '../../core/base/process-tree.ts';

/** POSIX sh. A line is `+GROUP` or `-GROUP`. Servers get one second to exit by themselves, and another after SIGTERM. */
const SCRIPT = `
groups=' '
while IFS= read -r line; do
  group="\${line#?}"
  case "$line" in
    +*) groups="$groups$group " ;;
    -*) case "$groups" in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac ;;
  esac
done
for signal in TERM KILL; do
  [ -z "\${groups## }" ] || sleep 1
  for group in $groups; do kill -$signal "-$group" 2>/dev/null; done
done
`;

/** Starts its process with the first group. Windows has no process groups; there, servers exit with their stdin. */
export class Guardian {
  readonly #logger: Logger;
  readonly #groups = new Set<number>();
  #shell: ChildProcess | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** From now on, the group is stopped when the bridge ends. */
  watch(group: number): void {
    if (!LEADS_GROUP || this.#groups.has(group)) {
      return;
    }
    this.#groups.add(group);
    if (this.#shell === undefined) {
      this.#shell = this.#start();
      this.#groups.forEach((each) => this.#say(`+${each}`));
    } else {
      this.#say(`+${group}`);
    }
  }

  /** The group is gone, and its id may be reused. */
  release(group: number): void {
    if (this.#groups.delete(group)) {
      this.#say(`-${group}`);
    }
  }

  /** Ends the guardian, which first stops the groups that are still watched. */
  close(): void {
    const shell = this.#shell;
    this.#shell = undefined;
    shell?.stdin?.end();
  }

  #start(): ChildProcess {
    const shell = spawn('/bin/sh', ['-c', SCRIPT], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
    });
    shell.on('error', (error) => this.#lost(shell, messageOf(error)));
    shell.on('exit', () => this.#lost(shell, 'the process that watches them ended'));
    // Writing to a killed guardian fails. Its exit is handled above.
    shell.stdin?.on('error', () => undefined);
    // Neither the process nor the pipe to it keeps the bridge running.
    shell.unref();
    (shell.stdin as Socket | null)?.unref();
    return shell;
  }

  /** Forgets a shell that ended. The next group starts another. */
  #lost(shell: ChildProcess, reason: string): void {
    if (this.#shell === shell) {
      this.#shell = undefined;
      this.#logger.warning(
        `If the bridge is killed, servers that ignore the end of stdin will keep running: ${reason}`,
      );
    }
  }

  #say(line: string): void {
    this.#shell?.stdin?.write(`${line}\n`);
  }
}
