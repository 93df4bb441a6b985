/** An answer as a tool result, in the output mode of the settings. Pure: same answer, same result. */
import type { Attachment, CellAnswer } from '../base/cell.ts';
import { MAX_SHOWN_CHARS } from '../base/limits.ts';
import { renderCompact } from './compact.ts';
import { renderJson } from './json.ts';
import { buildPayload, type Payload } from './payload.ts';

export const OUTPUT_MODES = ['compact', 'toon', 'json'] as const;
export type OutputMode = (typeof OUTPUT_MODES)[number];

interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}

/** Content blocks of MCP (2025-06-18 and later, server/tools). */
type AttachmentBlock =
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource';
      readonly resource: { readonly uri: string; readonly mimeType: string; readonly text: string };
    }
  | {
      readonly type: 'resource_link';
      readonly uri: string;
      readonly name: string;
      readonly mimeType: string;
      readonly size: number;
    };

export interface RenderedAnswer {
  readonly content: readonly [TextBlock, ...AttachmentBlock[]];
  readonly structuredContent: Readonly<Record<string, unknown>>;
  /** True for everything but success. */
  readonly isError: boolean;
}

/** The tool result of an answer, with at most `maxChars` characters of what the cell wrote, returned and raised. */
export async function renderAnswer(
  answer: CellAnswer,
  mode: OutputMode,
  maxChars: number = MAX_SHOWN_CHARS,
): Promise<RenderedAnswer> {
  const payload = buildPayload(answer, maxChars);
  const text = mode === 'compact' ? renderCompact(payload) : await renderVerbose(payload, mode);
  const isError = answer.status !== 'success';
  return {
    content: [{ type: 'text', text }, ...(answer.attachments ?? []).map(toBlock)],
    structuredContent: mode === 'compact' && !isError ? withoutTheUsual(payload) : { ...payload },
    isError,
  };
}

/** The payload without what says nothing new when all went well: it is not worth its tokens. */
function withoutTheUsual({ status: _status, ...news }: Payload): Readonly<Record<string, unknown>> {
  return news;
}

async function renderVerbose(payload: Payload, mode: 'toon' | 'json'): Promise<string> {
  if (mode === 'json') {
    return renderJson(payload);
  }
  // Loaded on demand: it is the mode of few.
  const { renderToon } = await import('./toon.ts');
  return renderToon(payload);
}

function toBlock(attachment: Attachment): AttachmentBlock {
  const { kind, mimeType } = attachment;
  switch (kind) {
    case 'document':
      return { type: 'resource', resource: { uri: attachment.uri, mimeType, text: attachment.text } };
    case 'link':
      return {
        type: 'resource_link',
        uri: attachment.uri,
        name: attachment.name,
        mimeType,
        size: attachment.sizeBytes,
      };
    default:
      return { type: kind, data: attachment.base64, mimeType };
  }
}
