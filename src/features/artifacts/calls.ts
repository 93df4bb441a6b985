/** The methods for artifacts that code can call. A session can read all artifacts, but writes only its own. */
import { z } from 'zod';
import { MAX_ARTIFACT_BYTES, MAX_ARTIFACT_PIECE_BYTES } from '../../core/base/limits.ts';
import { checked, type Method } from '../../core/calls/method.ts';
import type { CallMethod } from '../../core/protocol/frames.ts';
import type { CallContext } from '../../core/session/dispatch.ts';
import type { Artifact, Artifacts } from './artifacts.ts';
import { artifactUri, linkTo, mimeTypeOf } from './resources.ts';

const offset = z.int().nonnegative().max(MAX_ARTIFACT_BYTES);
/** Of the piece in base64. */
const MAX_PIECE_CHARS = 4 * Math.ceil(MAX_ARTIFACT_PIECE_BYTES / 3);
const PIECE_TOO_LONG = `a piece of an artifact has at most ${MAX_ARTIFACT_PIECE_BYTES.toLocaleString('en-US')} bytes`;
const SaveArtifactParams = z.strictObject({
  name: z.string(),
  offset,
  data: z.string().max(MAX_PIECE_CHARS, PIECE_TOO_LONG).base64(),
  last: z.boolean(),
});
const LoadArtifactParams = z.strictObject({
  name: z.string(),
  session: z.string().optional(),
  offset,
  length: z.int().positive().max(MAX_ARTIFACT_PIECE_BYTES, PIECE_TOO_LONG),
});

/** @param onSaved notes which call has saved what. */
export function artifactMethods(
  artifacts: Artifacts,
  onSaved?: (call: CallContext, saved: Artifact) => void,
): [CallMethod, Method][] {
  /** Returns the artifact once it is complete, and links to it in the answer; null before. */
  const save = checked(SaveArtifactParams, async ({ name, offset: at, data, last }, context) => {
    const { session, attach } = context;
    const bytes = Buffer.from(data, 'base64');
    const saved = await artifacts.write({ session, name, offset: at, data: bytes, isLast: last });
    if (saved === undefined) {
      return null;
    }
    onSaved?.(context, saved);
    attach?.(linkTo(saved));
    return facts(saved);
  });
  const load = checked(LoadArtifactParams, async ({ name, session, offset: at, length }, context) => {
    const { data, artifact } = await artifacts.read(session ?? context.session, name, at, length);
    return { data: data.toString('base64'), size: artifact.sizeBytes };
  });
  const list = checked(z.strictObject({}), async () => (await artifacts.list()).map(facts));
  return [
    ['save_artifact', save],
    ['load_artifact', load],
    ['list_artifacts', list],
  ];
}

function facts({ session, name, sizeBytes, modified }: Artifact) {
  const uri = artifactUri(session, name);
  return { session, name, size: sizeBytes, modified: modified.toISOString(), uri, mime_type: mimeTypeOf(name) };
}
