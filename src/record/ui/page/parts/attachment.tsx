/**
 * Files and pictures. Only raster pictures are drawn, from memory and with a type of our own list; anything else, SVG and HTML too, is
 * shown as text or downloaded, and never opened.
 */
import { useEffect, useState } from 'preact/hooks';
import { explainFailure, send } from '../api.ts';
import { formatBytes } from '../format.ts';
import { pictureType } from '../picture-type.ts';
import { notify } from '../store.ts';
import { Code, LongText } from './code.tsx';
import { ActionButton } from './controls.tsx';
import { Shown } from './text.tsx';

const TEXTUAL = /^(?:text\/|application\/(?:json|xml|javascript|x-ndjson|yaml|toml)|image\/svg\+xml)|\+(?:json|xml)$/;
const PYTHON = 'text/x-python';
/** Larger ones are only downloaded. */
const MAX_PICTURE_BYTES = 32 * 1024 * 1024;
const MAX_TEXT_BYTES = 2 * 1024 * 1024;

interface AttachmentProps {
  readonly attachment: {
    readonly name: string;
    readonly mime_type: string;
    readonly size: number;
    readonly url?: string | undefined;
  };
  /** Whether its text is shown at once. */
  readonly isOpen?: boolean;
}

export function Attachment({ attachment: { mime_type: type, name, size, url }, isOpen = false }: AttachmentProps) {
  const [text, setText] = useState<string>();
  const isPicture = pictureType(type) !== undefined && size <= MAX_PICTURE_BYTES;
  const isText = TEXTUAL.test(type) && size <= MAX_TEXT_BYTES;
  const showText = async (address: string): Promise<void> => setText(await (await load(address)).text());
  useEffect(() => {
    if (isOpen && isText && url !== undefined) {
      showText(url).catch((error: unknown) => notify(`The text cannot be shown: ${explainFailure(error)}`, true));
    }
  }, [isOpen, isText, url]);
  return (
    <figure class="card attachment">
      <figcaption>
        <strong>
          <Shown text={name} />
        </strong>{' '}
        <span class="dim">
          <Shown text={type} />, {formatBytes(size)}
        </span>
        {url !== undefined && (
          <span class="buttons">
            {isText && !isOpen && text === undefined && (
              <ActionButton label="Show as text" name={`Show as text: ${name}`} act={() => showText(url)} />
            )}
            <ActionButton label="Download" name={`Download ${name}`} act={() => download(url, name)} />
          </span>
        )}
      </figcaption>
      {url !== undefined && isPicture && <Picture url={url} mimeType={type} name={name} />}
      {text !== undefined && <TextOf text={text} name={name} isPython={type === PYTHON} />}
      {isOpen && !isPicture && !isText && <p class="dim">It can only be downloaded.</p>}
      {url === undefined && <p class="dim">It is no longer stored.</p>}
    </figure>
  );
}

function TextOf({
  isPython,
  name,
  text,
}: {
  readonly text: string;
  readonly name: string;
  readonly isPython: boolean;
}) {
  const label = `Text of ${name}`;
  return isPython ? <Code code={text} label={label} /> : <LongText text={text} label={label} />;
}

/** Only paths of this API, so the token goes nowhere else. */
function load(url: string): Promise<Response> {
  if (!/^\/api\/[\w/.?&=%~!'()*+-]*$/.test(url)) {
    throw new Error('This file has an address outside of this page.');
  }
  return send(url);
}

export async function download(url: string, name: string): Promise<void> {
  const bytes = await (await load(url)).arrayBuffer();
  const address = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name.replaceAll(/[\\/\p{Cc}\p{Cf}]/gu, '_');
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

interface PictureProps {
  readonly name: string;
  readonly mimeType: string;
  readonly url?: string;
  readonly base64?: string;
}

export function Picture({ base64, mimeType, name, url }: PictureProps) {
  const [address, setAddress] = useState<string>();
  const type = pictureType(mimeType);
  useEffect(() => {
    let made: string | undefined;
    let isGone = false;
    const show = (bytes: BlobPart): void => {
      if (!isGone && type !== undefined) {
        made = URL.createObjectURL(new Blob([bytes], { type }));
        setAddress(made);
      }
    };
    const fail = (error: unknown): void => notify(`The picture cannot be shown: ${explainFailure(error)}`, true);
    if (base64 === undefined) {
      (async () => show(await (await load(url ?? '')).arrayBuffer()))().catch(fail);
    } else {
      decode(base64).then(show, fail);
    }
    return () => {
      isGone = true;
      if (made !== undefined) {
        URL.revokeObjectURL(made);
      }
    };
  }, [url, base64, type]);
  return address === undefined ? (
    <p class="dim">Loading the picture…</p>
  ) : (
    <img class="picture" src={address} alt={name} />
  );
}

async function decode(base64: string): Promise<BlobPart> {
  const text = await Promise.resolve(atob(base64));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
