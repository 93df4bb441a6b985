/** Artifacts as MCP resources, `artifact:///<session>/<name>`: text if they are text, otherwise a blob. */
import type { Attachment } from '../../core/base/cell.ts';
import { LargeText } from '../../core/base/large-text.ts';
import { limitConcurrency } from '../../core/base/limit-concurrency.ts';
import type { ResourceProvider } from '../../front/server/resources.ts';
import { type Artifact, type Artifacts, PIECE_BYTES } from './artifacts.ts';

type ArtifactStore = Pick<Artifacts, 'list' | 'open' | 'read'>;

const PREFIX = 'artifact:///';
const OPEN_XML = 'application/vnd.openxmlformats-officedocument';
/** By extension, as registered with IANA or else as browsers and Python know it; everything else is `application/octet-stream`. */
const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  doc: 'application/msword',
  docx: `${OPEN_XML}.wordprocessingml.document`,
  gif: 'image/gif',
  gz: 'application/gzip',
  htm: 'text/html',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  jsonl: 'application/jsonl',
  md: 'text/markdown',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  odt: 'application/vnd.oasis.opendocument.text',
  parquet: 'application/vnd.apache.parquet',
  pdf: 'application/pdf',
  png: 'image/png',
  ppt: 'application/vnd.ms-powerpoint',
  pptx: `${OPEN_XML}.presentationml.presentation`,
  py: 'text/x-python',
  sqlite: 'application/vnd.sqlite3',
  svg: 'image/svg+xml',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  toml: 'application/toml',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain',
  wav: 'audio/wav',
  webp: 'image/webp',
  xls: 'application/vnd.ms-excel',
  xlsx: `${OPEN_XML}.spreadsheetml.sheet`,
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  zip: 'application/zip',
};
const IS_TEXT = /^text\/|^application\/(json|jsonl|toml|xml|yaml)$|\+xml$/;

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
  const mimeType = mimeTypeOf(name);
  const { artifact, data } = await store.read(session, name, 0, PIECE_BYTES);
  if (artifact.sizeBytes > data.length) {
    return readLarge(store, session, name, uri);
  }
  const text = IS_TEXT.test(mimeType) ? decode(data) : undefined;
  return text === undefined ? { uri, mimeType, blob: data.toString('base64') } : { uri, mimeType, text };
}

/** Looking whether a large one is text reads all of it. */
const inTurn = limitConcurrency(2);

async function readLarge(store: ArtifactStore, session: string, name: string, uri: string) {
  const mimeType = mimeTypeOf(name);
  const artifact = await store.open(session, name);
  const { version } = artifact;
  const isText = await inTurn(async () => {
    try {
      return IS_TEXT.test(mimeType) && (await isUtf8(artifact.pieces()));
    } finally {
      await artifact.close();
    }
  });
  const content = new LargeText(async () => {
    const opened = await store.open(session, name);
    if (opened.version !== version) {
      await opened.close();
      throw new Error(`The artifact '${name}' was replaced while it was read. Read it again.`);
    }
    const pieces = opened.pieces();
    return { pieces: isText ? decoded(pieces) : encoded(pieces), close: opened.close };
  });
  return isText ? { uri, mimeType, text: content } : { uri, mimeType, blob: content };
}

async function* encoded(pieces: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  for await (const piece of pieces) {
    yield piece.toString('base64');
  }
}

/** Throws for what is not UTF-8. */
async function* decoded(pieces: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  for await (const piece of pieces) {
    yield decoder.decode(piece, { stream: true });
  }
  yield decoder.decode();
}

async function isUtf8(pieces: AsyncIterable<Buffer>): Promise<boolean> {
  try {
    for await (const _text of decoded(pieces)) {
      // Only whether it can be decoded matters.
    }
    return true;
  } catch {
    return false;
  }
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
