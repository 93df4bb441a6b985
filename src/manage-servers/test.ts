/** `servers test`: how far each server comes, and where it does not, why and what to do. */
import { BridgeError, ERROR_CODES, reportError } from '../base/errors.ts';
import type { ConfiguredServers } from '../directory/configured-servers.ts';
import { askEach, type ServerTest, type StartTimes, serversNamed, testServer } from '../directory/server-test.ts';
import { findingOfIssue } from '../terminal/finding.ts';
import type { Output } from '../terminal/output.ts';
import type { ServersCommand } from './command-line.ts';
import { renderTests } from './test-text.ts';

/** Resolves with the exit code: that of `SERVER_START_FAILED` when one did not come to its tools. */
export async function test(
  { names }: ServersCommand,
  configured: ConfiguredServers,
  times: StartTimes,
  { print, nothing, startProgress }: Output,
): Promise<number> {
  const leftOut = leftOutOf(configured, names);
  const rest = names.filter((name) => !leftOut.some((one) => one.name === name));
  const servers = names.length > 0 && rest.length === 0 ? [] : await serversNamed(rest, configured.known);
  const { stop, watch } = await startProgress();
  const tested = await askEach(servers, (server) => watch(server.name, testServer(server, configured, times))).finally(
    stop,
  );
  const tests = [...tested, ...leftOut];
  print(tests, () => renderTests(tests, nothing));
  return tests.some(({ error }) => error !== null) ? ERROR_CODES.SERVER_START_FAILED.exitCode : 0;
}

/** Entries that are no servers because of what is wrong with them; of `names`, or all. */
function leftOutOf({ issues, definitions }: ConfiguredServers, names: readonly string[]): ServerTest[] {
  return issues().flatMap((issue) => {
    const { file, level, server: name } = issue;
    if (
      level !== 'error' ||
      name === undefined ||
      definitions().has(name) ||
      (names.length > 0 && !names.includes(name))
    ) {
      return [];
    }
    const { text, hint } = findingOfIssue(issue);
    const error = new BridgeError('CONFIG_INVALID', text, { hint });
    return {
      name,
      file,
      steps: [{ step: 'resolve', isDone: false, ms: 0 }],
      ms: 0,
      tools: null,
      protocolVersion: null,
      serverVersion: null,
      notices: [],
      error: reportError(error),
    };
  });
}
