/** What code asks of the host about artifacts. Every session may read the artifacts of all; each writes its own. */
import { z } from 'zod';
import { MAX_ARTIFACT_BYTES } from '../base/limits.ts';
import type { CallContext } from '../session/dispatch.ts';
import type { Artifact, Artifacts } from './artifacts.ts';
import { artifactUri, linkTo, mimeTypeOf } from './resources.ts';

const offset = z.int().nonnegative().max(MAX_ARTIFACT_BYTES);
export const SaveArtifactParams = z.strictObject({
  name: z.string(),
  offset,
  data: z.base64(),
  last: z.boolean(),
});
export const LoadArtifactParams = z.strictObject({
  name: z.string(),
  session: z.string().optional(),
  offset,
  length: z.int().positive().max(MAX_ARTIFACT_BYTES),
});

export function artifactCalls(artifacts: Artifacts) {
  return {
    /** The artifact once it is whole, which the answer then links to; null before. */
    async save({ name, offset: at, data, last }: z.output<typeof SaveArtifactParams>, context: CallContext) {
      const bytes = Buffer.from(data, 'base64');
      const saved = await artifacts.write({ session: context.session, name, offset: at, data: bytes, isLast: last });
      if (saved === undefined) {
        return null;
      }
      context.attach?.(linkTo(saved));
      return facts(saved);
    },
    async load({ name, session, offset: at, length }: z.output<typeof LoadArtifactParams>, context: CallContext) {
      const { data, artifact } = await artifacts.read(session ?? context.session, name, at, length);
      return { data: data.toString('base64'), size: artifact.sizeBytes };
    },
    async list() {
      return (await artifacts.list()).map(facts);
    },
  };
}

function facts({ session, name, sizeBytes, modified }: Artifact) {
  const uri = artifactUri(session, name);
  return { session, name, size: sizeBytes, modified: modified.toISOString(), uri, mime_type: mimeTypeOf(name) };
}
