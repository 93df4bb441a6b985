/**
 * Images, sounds, documents and links of a cell, within the budget of an answer. The kernel applies the same budget; this
 * second check holds even if a sandbox does not.
 */
import type { Attachment } from '../base/cell.ts';
import { MAX_DISPLAY_BYTES, MAX_DISPLAYS, MAX_LINKS } from '../base/limits.ts';
import type { DisplayFrame } from '../protocol/frames.ts';

/** Image types that clients show. */
const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

export interface Attachments {
  add(frame: DisplayFrame): void;
  /** Links are small: they are limited by number, not by bytes. */
  addLink(link: Attachment): void;
  /** Empty if the cell showed nothing. */
  take(): readonly Attachment[];
}

export function createAttachments(): Attachments {
  const attachments: Attachment[] = [];
  const links: Attachment[] = [];
  let bytes = 0;

  return {
    add(frame) {
      const attachment = toAttachment(frame, attachments.length + 1);
      const size = sizeOf(frame);
      if (attachment === undefined || attachments.length >= MAX_DISPLAYS || bytes + size > MAX_DISPLAY_BYTES) {
        return;
      }
      bytes += size;
      attachments.push(attachment);
    },
    addLink(link) {
      if (links.length < MAX_LINKS) {
        links.push(link);
      }
    },
    take: () => [...attachments, ...links],
  };
}

function toAttachment({ cell, mime_type, base64, text }: DisplayFrame, number: number): Attachment | undefined {
  if (base64 !== undefined) {
    const kind = IMAGE_TYPES.includes(mime_type) ? 'image' : mime_type.startsWith('audio/') ? 'audio' : undefined;
    return kind && { kind, mimeType: mime_type, base64 };
  }
  return text === undefined
    ? undefined
    : { kind: 'document', uri: `display://cell/${cell}/${number}`, mimeType: mime_type, text: text.toWellFormed() };
}

function sizeOf({ base64 = '', text = '' }: DisplayFrame): number {
  return Math.ceil((base64.length * 3) / 4) + Buffer.byteLength(text);
}
