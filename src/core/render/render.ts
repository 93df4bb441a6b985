/** An answer as a tool result, in the configured output mode. Pure. */
import type { Attachment, ShownAnswer } from '../base/cell.ts';
import { MAX_SHOWN_CHARS } from '../base/limits.ts';
import { buildPayload, type Payload } from './payload.ts';

export const OUTPUT_MODES = ['compact', 'toon', 'json'] as const;
export type OutputMode = (typeof OUTPUT_MODES)[number];

interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}

/** Content blocks of MCP (since 2025-06-18, server/tools). */
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
  /** True unless the cell succeeded or goes on. */
  readonly isError: boolean;
  /** For the client only. */
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/**
 * The tool result for an answer, with at most `maxChars` characters of output, value and error. A promise only for the mode `toon`:
 * every answer waits for this.
 */
export function renderAnswer(
  answer: ShownAnswer,
  mode: OutputMode,
  maxChars: number = MAX_SHOWN_CHARS,
): RenderedAnswer | Promise<RenderedAnswer> {
  const payload = buildPayload(answer, maxChars);
  const isSuccess = answer.status === 'success';
  const withText = (text: string): RenderedAnswer => ({
    content: [{ type: 'text', text }, ...(answer.attachments ?? []).map(toBlock)],
    structuredContent: mode === 'compact' && isSuccess ? withoutStatus(payload) : { ...payload },
    isError: !isSuccess && answer.status !== 'running',
  });
  switch (mode) {
    case 'compact':
      return withText(renderCompact(payload));
    case 'json':
      return withText(JSON.stringify(payload));
    case 'toon':
      return renderAsToon(payload).then(withText);
  }
}

/** The text of an answer in the mode `compact`. */
export function renderText(answer: ShownAnswer, maxChars: number): string {
  return renderCompact(buildPayload(answer, maxChars));
}

/** `status: success` is not worth its tokens. */
function withoutStatus({ status: _status, ...others }: Payload): Readonly<Record<string, unknown>> {
  return others;
}

/**
 * The answer as a person would expect it in a terminal: for a failure `status:` and `exit:`; the output; the value; `stderr:` and
 * its lines; the error. Notices come last: an answer begins with what it is about.
 */
function renderCompact(payload: Payload): string {
  const lines: string[] = [];
  if (payload.status !== 'success') {
    lines.push(`status: ${payload.status}`);
    if (payload.exitCode !== undefined) {
      lines.push(`exit: ${payload.exitCode}`);
    }
  }
  lines.push(...(payload.stdout ?? []));
  if (payload.result !== undefined) {
    lines.push(payload.result);
  }
  if (payload.stderr !== undefined) {
    lines.push('stderr:', ...payload.stderr);
  }
  if (payload.error !== undefined) {
    // Without a header, the error would look like part of stderr.
    lines.push(...(payload.stderr === undefined ? [] : ['error:']), payload.error);
  }
  const isSilent =
    payload.status !== 'running' &&
    payload.stdout === undefined &&
    payload.stderr === undefined &&
    payload.result === undefined;
  if (isSilent && payload.error === undefined) {
    lines.push(payload.summary);
  }
  if (payload.notices !== undefined) {
    lines.push('notices:', ...payload.notices);
  }
  return lines.join('\n');
}

async function renderAsToon(payload: Payload): Promise<string> {
  // Loaded on demand, because few people use this mode.
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
