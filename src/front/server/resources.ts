/** The resources of the bridge: its manual, and those that features add. */
import {
  type BlobResourceContents,
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Resource,
  type Result,
  type TextResourceContents,
} from '@modelcontextprotocol/server';
import { messageOf } from '../../core/base/errors.ts';
import type { LargeText } from '../../core/base/large-text.ts';
import type { LazyBridge } from '../../core/session/lazy-bridge.ts';
import { CAPABILITY_RESOURCE_NAME, capabilityResource } from './capabilities.ts';
import { CAPABILITY_RESOURCE_URI } from './introduction.ts';

/** As in MCP, but what is long may be read while the answer is written. */
export type ResourceContents =
  | (Omit<TextResourceContents, 'text'> & { readonly text: string | LargeText })
  | (Omit<BlobResourceContents, 'blob'> & { readonly blob: string | LargeText });

/** Resources that a feature adds. */
export interface ResourceProvider {
  /** Entries of `resources/list`. */
  list(): Promise<readonly Resource[]>;
  /** Undefined if the URI belongs to another provider. Rejects with the reason if there is no such resource. */
  read(uri: string): Promise<ResourceContents | undefined>;
}

/** The resources of several features as one provider. */
export function joinProviders(providers: readonly ResourceProvider[]): ResourceProvider {
  return {
    async list() {
      return (await Promise.all(providers.map((provider) => provider.list()))).flat();
    },
    async read(uri) {
      for (const provider of providers) {
        const contents = await provider.read(uri);
        if (contents !== undefined) {
          return contents;
        }
      }
      return undefined;
    },
  };
}

export interface ResourceOptions {
  readonly bridge: LazyBridge;
  readonly resources: ResourceProvider;
}

const CAPABILITY_RESOURCE = {
  uri: CAPABILITY_RESOURCE_URI,
  name: CAPABILITY_RESOURCE_NAME,
  description: 'Manual of run_python: helpers in the sandbox, and a checklist for loading servers.',
  mimeType: 'text/markdown',
};

export async function listResources({ resources }: ResourceOptions) {
  return [CAPABILITY_RESOURCE, ...(await resources.list())];
}

/** Rejects with a protocol error if there is no resource with this URI. */
export async function readResource(request: JSONRPCRequest, { bridge, resources }: ResourceOptions): Promise<Result> {
  const uri = request.params?.uri;
  if (uri === CAPABILITY_RESOURCE_URI) {
    const text = capabilityResource(await (await bridge.made())?.describeEngine());
    return { contents: [{ uri, mimeType: CAPABILITY_RESOURCE.mimeType, text }] };
  }
  const contents = typeof uri === 'string' ? await readOrRefuse(resources, uri) : undefined;
  if (contents === undefined) {
    throw unknownResource(uri, `There is no resource ${JSON.stringify(uri)}; resources/list names all of them.`);
  }
  return { contents: [contents] };
}

async function readOrRefuse(resources: ResourceProvider, uri: string) {
  try {
    return await resources.read(uri);
  } catch (error) {
    throw unknownResource(uri, `${messageOf(error)}.`);
  }
}

/** MCP 2026-07-28, resources, error handling: the error names the URI. */
function unknownResource(uri: unknown, message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, { uri });
}
