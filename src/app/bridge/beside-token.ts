/**
 * Keeps local MCP servers away from the service-account token of a bridge that runs in a Pod. With it, a server could enter every
 * Pod of the namespace, and the two have one user in one container, where no file is private. So none is started beside it.
 */
import { BridgeError } from '../../core/base/errors.ts';
import type { UpstreamDefinition } from '../../core/base/server-definition.ts';
import type { Settings } from '../../edges/settings/settings.ts';

type Prepare = (definition: UpstreamDefinition) => Promise<UpstreamDefinition>;

/** Throws `SERVER_START_FAILED` for a local server, unless the operator allows them. */
export function awayFromToken(settings: Settings, prepare: Prepare): Prepare {
  const { kubernetesLocalServers: isAllowed, kubernetesOwner: pod, runtime } = settings;
  if (pod === undefined || runtime !== 'kubernetes' || isAllowed) {
    return prepare;
  }
  return async (definition) => {
    if (definition.url === undefined) {
      const why = "it could read the bridge's service-account token, which may enter every Pod of the namespace";
      throw new BridgeError(
        'SERVER_START_FAILED',
        `server '${definition.name}' is not started beside the bridge: ${why}`,
        {
          hint: `Run it in a Pod of its own, without the account of the bridge, and give '${definition.name}' its "url". If you trust it with the token, set MCP_BRIDGE_KUBERNETES_LOCAL_SERVERS=on.`,
          data: { server: definition.name },
        },
      );
    }
    return prepare(definition);
  };
}
