/**
 * Asks the user whether code may keep a function for later sessions, or whether a shared one may be loaded, and shows all of it: what
 * cannot be shown cannot be approved.
 */
import { BridgeError, toBridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { makeVisible } from '../../core/catalog/visible.ts';
import type { CallContext } from '../../core/session/dispatch.ts';
import type { ToolboxFunction } from './toolbox.ts';

/** The call that saves. */
export type SavingCall = Pick<CallContext, 'session' | 'generation' | 'cell' | 'signal' | 'asker'>;

/** Chosen: people do not read more in a form. */
const MAX_SHOWN_CHARS = 4_000;
const MAX_SHOWN_LINES = 100;

/**
 * Resolves if the user allows it. Rejects with `APPROVAL_DENIED`, with `APPROVAL_UNAVAILABLE` if no one can be asked, or with the
 * errors of `Asker.ask`.
 *
 * @param before the source that would be replaced.
 * @param why the reason for asking, and where the user can change the function.
 */
export async function askToSave(
  tool: { readonly name: string; readonly source: string },
  before: string | undefined,
  { file, reason }: { readonly reason: string; readonly file: string },
  { asker, session, signal }: SavingCall,
): Promise<void> {
  const { name, source } = tool;
  const what = `'${name}' was not saved: ${reason}`;
  const hint =
    before === undefined
      ? 'Define the function again in each session.'
      : `Use another name. The user can delete ${file}.`;
  const shown = {
    title: `Save ${name} for later sessions?`,
    text: [
      `Code in session '${session}' wants to save the function '${name}', which every later session will define.`,
      ...(before === undefined ? [] : ['It replaces a different function that is saved under this name.']),
    ],
  };
  await askAbout(source, { ...shown, key: 'save', what, hint, refused: `'${name}' was not saved` }, { asker, signal });
}

/** Resolves if the user allows a shared function to be loaded. Rejects as `askToSave` does. */
export async function askToLoad(tool: ToolboxFunction, asking: Pick<CallContext, 'asker' | 'signal'>): Promise<void> {
  const { name, path, source, state } = tool;
  const why = state === 'new' ? 'it is new' : 'it has changed since you allowed it';
  const question = {
    key: 'load',
    title: `Load ${name}?`,
    text: [
      `The shared function '${name}' is not loaded, because ${why}. Every session could call it.`,
      `The file: ${makeVisible(path)}`,
    ],
    what: `the shared function '${name}' was not loaded, because ${why}`,
    refused: `the shared function '${name}' was not loaded`,
    hint: `To review and allow it, the user can run: ${COMMAND} tools approve ${name}`,
  };
  await askAbout(source, question, asking);
}

interface AboutSource {
  /** Name of the field to tick. */
  readonly key: string;
  readonly title: string;
  /** Paragraphs before the source. */
  readonly text: readonly string[];
  /** What has not happened, and why the user has to be asked. */
  readonly what: string;
  /** What has not happened. */
  readonly refused: string;
  readonly hint: string;
}

async function askAbout(
  source: string,
  { hint, key, refused, text, title, what }: AboutSource,
  { asker, signal }: Pick<CallContext, 'asker' | 'signal'>,
): Promise<void> {
  const lines = source.trimEnd().split(/\r\n?|\n/);
  if (source.length > MAX_SHOWN_CHARS || lines.length > MAX_SHOWN_LINES) {
    const limits = `${MAX_SHOWN_CHARS.toLocaleString('en-US')} characters and ${MAX_SHOWN_LINES} lines`;
    throw new BridgeError('APPROVAL_UNAVAILABLE', `${what}, and a question shows at most ${limits}`, { hint });
  }
  if (asker === undefined) {
    throw new BridgeError('APPROVAL_UNAVAILABLE', `${what}, and this client cannot ask the user`, { hint });
  }
  const form = {
    mode: 'form' as const,
    message: [
      ...text,
      'The source:',
      // After an empty line, a client that renders Markdown shows them as code.
      lines.map((line) => `    | ${shownLine(line)}`).join('\n'),
    ].join('\n\n'),
    requestedSchema: {
      type: 'object',
      properties: { [key]: { type: 'boolean', title, default: false } },
      required: [],
    },
  };
  const reply = await asker.ask(form, signal).catch((error: unknown) => {
    const { code, message } = toBridgeError(error);
    throw new BridgeError(code, `${refused}: ${message}`, { hint, cause: error });
  });
  if (reply.action !== 'accept' || reply.content?.[key] !== true) {
    throw new BridgeError('APPROVAL_DENIED', `${refused}: the user was asked and did not allow it`, { hint });
  }
}

/** Nothing can hide: neither characters that are not drawn, nor code far to the right. */
function shownLine(line: string): string {
  return makeVisible(line.replaceAll('\t', '    ')).replaceAll(GAP, (gap) => `<${gap.length} spaces>`);
}

const GAP = /(?<=\S)\p{Zs}{8,}(?=\S)/gu;
