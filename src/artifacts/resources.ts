/** Artifacts as MCP resources, `artifact:///<session>/<name>`: text if they are text, otherwise a blob. */
import type { Attachment } from '../base/cell.ts';
import { MAX_ARTIFACT_BYTES } from '../base/limits.ts';
import type { ResourceProvider } from '../server/resources.ts';
import type { Artifact, Artifacts } from './artifacts.ts';

type ArtifactStore = Pick<Artifacts, 'list' | 'read'>;

const PREFIX = 'artifact:///';
/** By extension; everything else is `application/octet-stream`. */
const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  toml: 'application/toml',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain',
  webp: 'image/webp',
  xml: 'application/xml',
  yaml: 'application/yaml',
  zip: 'application/zip',
};
const IS_TEXT = /^text\/|^application\/(json|toml|xml|yaml)$|\+xml$/;

export function mimeTypeOf(name: string): string {
  return TYPES[/\.([a-z\d]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''] ?? 'application/octet-stream';
}

export function artifactUri(session: string, name: string): string {
  return `${PREFIX}${encodeURIComponent(session)}/${encodeURIComponent(name)}`;
}

export function artifactResources(store: ArtifactStore): ResourceProvider {
  return { list: () => listArtifacts(store), read: (uri) => readArtifact(store, uri) };
}

async function listArtifacts(store: ArtifactStore) {
  return (await store.list()).map(({ session, name, sizeBytes, modified }) => ({
    uri: artifactUri(session, name),
    name,
    description: `Saved in session ${session}.`,
    mimeType: mimeTypeOf(name),
    size: sizeBytes,
    annotations: { lastModified: modified.toISOString() },
  }));
}

async function readArtifact(store: ArtifactStore, uri: string) {
  const [session, name] = partsOf(uri) ?? [];
  if (session === undefined || name === undefined) {
    return undefined;
  }
  const { artifact } = await store.read(session, name, 0, 0);
  const { data } = await store.read(session, name, 0, Math.min(artifact.sizeBytes, MAX_ARTIFACT_BYTES));
  const mimeType = mimeTypeOf(name);
  const text = IS_TEXT.test(mimeType) ? decode(data) : undefined;
  return text === undefined ? { uri, mimeType, blob: data.toString('base64') } : { uri, mimeType, text };
}

/** The link in an answer to an artifact that its cell saved. */
export function linkTo({ session, name, sizeBytes }: Artifact): Attachment {
  return { kind: 'link', uri: artifactUri(session, name), name, mimeType: mimeTypeOf(name), sizeBytes };
}

function partsOf(uri: string): string[] | undefined {
  if (!uri.startsWith(PREFIX)) {
    return undefined;
  }
  try {
    const parts = uri.slice(PREFIX.length).split('/').map(decodeURIComponent);
    return parts.length === 2 ? parts : undefined;
  } catch {
    return undefined;
  }
}

function decode(data: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return undefined;
  }
}
