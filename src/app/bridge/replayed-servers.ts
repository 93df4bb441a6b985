/** The servers of a recording: known from it, and answering from it. Nothing is started, and no server file is read. */
import { BridgeError } from '../../core/base/errors.ts';
import type { JsonObject } from '../../core/base/is-object.ts';
import type { Logger } from '../../core/base/log.ts';
import type { ServerMetadata } from '../../core/catalog/known.ts';
import { type CallableServer, createServerDirectory } from '../../core/directory/server-directory.ts';
import type { MetadataSource } from '../../core/directory/server-metadata.ts';
import type { SurfaceAnswer } from '../../core/protocol/server-requests.ts';
import { createCurrentPolicies } from '../../features/policy/index.ts';
import type { Replay } from '../../record/recordings/index.ts';
import { type BridgeServers, toReferences } from './build-servers.ts';

/** What a bridge needs of its servers. */
export interface ServersToCall extends Pick<BridgeServers, 'known' | 'policies' | 'secrets' | 'refresh' | 'issues'> {
  readonly pool: Pick<
    BridgeServers['pool'],
    'callTool' | 'surface' | 'states' | 'offerElicitation' | 'stop' | 'forgetListing' | 'close'
  > &
    Partial<Pick<BridgeServers['pool'], 'egress' | 'sendEgress'>>;
}

/** What `policy.json` says about packages and saved functions applies; whatever was decided about calls is in the recording. */
export function createReplayedServers(replay: Replay, stateDir: string, logger: Logger): ServersToCall {
  const metadata = new Map(replay.servers.map((server) => [server.name, server.metadata]));
  const callable = new Map(
    replay.servers.map(({ name, description, cwd }): [string, CallableServer] => [name, { name, description, cwd }]),
  );
  const references = toReferences(callable);
  return {
    known: createServerDirectory(sourceOf(metadata), () => callable, logger),
    pool: {
      // The bridge wrote what it answers, so it has the shape of an answer.
      callTool: async ({ server, tool, arguments: given }) => (await replay.answer(server, tool, given)) as JsonObject,
      surface: async ({ server, method, params }) =>
        (await replay.answer(server, method, { ...params })) as SurfaceAnswer,
      states: () => [],
      offerElicitation: () => undefined,
      stop: async () => undefined,
      forgetListing: () => undefined,
      close: async () => undefined,
    },
    policies: createCurrentPolicies({ stateDir, definitions: () => NO_DEFINITIONS, logger }),
    secrets: () => [],
    refresh: () => references,
    issues: () => [],
  };
}

/** The same map each time. */
const NO_DEFINITIONS = new Map<string, never>();

function sourceOf(recorded: ReadonlyMap<string, ServerMetadata | undefined>): MetadataSource {
  return {
    kept: async ({ name }) => recorded.get(name),
    async current({ name }) {
      const metadata = recorded.get(name);
      if (metadata === undefined) {
        throw new BridgeError('CALL_NOT_RECORDED', `the recording does not have the tools of server '${name}'`, {
          hint: 'Its code did not ask for them, or the server did not start. Record it again.',
        });
      }
      return metadata;
    },
    review: async (_, given) => given,
    flush: async () => undefined,
  };
}
