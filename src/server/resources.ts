/** The resources of the bridge: its manual, and the files that code kept. */
import { type JSONRPCRequest, ProtocolError, ProtocolErrorCode, type Result } from '@modelcontextprotocol/server';
import { type ArtifactStore, listArtifacts, readArtifact } from '../artifacts/resources.ts';
import { messageOf } from '../base/errors.ts';
import { CAPABILITY_RESOURCE_NAME, CAPABILITY_RESOURCE_URI, capabilityResource } from './capabilities.ts';
import type { CellRunner } from './cell-runner.ts';

export interface ResourceOptions {
  readonly runner: CellRunner;
  readonly artifacts: ArtifactStore;
}

const CAPABILITY_RESOURCE = {
  uri: CAPABILITY_RESOURCE_URI,
  name: CAPABILITY_RESOURCE_NAME,
  description: 'Manual of run_python: helpers in the sandbox, and a checklist for loading servers.',
  mimeType: 'text/markdown',
};

export async function listResources({ artifacts }: ResourceOptions) {
  return [CAPABILITY_RESOURCE, ...(await listArtifacts(artifacts))];
}

/** Rejects with a protocol error for a URI that names nothing. */
export async function readResource(request: JSONRPCRequest, { runner, artifacts }: ResourceOptions): Promise<Result> {
  const uri = request.params?.uri;
  if (uri === CAPABILITY_RESOURCE_URI) {
    const text = capabilityResource(await runner.describeEngine());
    return { contents: [{ uri, mimeType: CAPABILITY_RESOURCE.mimeType, text }] };
  }
  const contents = typeof uri === 'string' ? await readOrRefuse(artifacts, uri) : undefined;
  if (contents === undefined) {
    throw unknownResource(uri, `There is no resource ${JSON.stringify(uri)}; resources/list names all of them.`);
  }
  return { contents: [contents] };
}

async function readOrRefuse(artifacts: ArtifactStore, uri: string) {
  try {
    return await readArtifact(artifacts, uri);
  } catch (error) {
    throw unknownResource(uri, `${messageOf(error)}.`);
  }
}

/** MCP 2026-07-28, resources, error handling: the error names the URI. */
function unknownResource(uri: unknown, message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, { uri });
}
