/** Entries of servers that run elsewhere: `url`, with `headers`, as the clients write them. */
import { z } from 'zod';
import { COMMON_ENTRY_KEYS, scalar, text } from './entry-schema.ts';
import { REFERENCE } from './expand.ts';

/** What clients write for Streamable HTTP, which is tried first anyway, and for the transport before it. */
const HTTP_NAMES: ReadonlySet<string> = new Set(['http', 'streamable-http', 'streamablehttp', 'streamable_http']);
/** OpenCode and Codex say no more than that; VS Code and Gemini say nothing. */
const UNSPECIFIC_NAMES: ReadonlySet<string> = new Set(['remote', 'url', '']);

const transport = z
  .string()
  .transform((value, context): 'auto' | 'sse' => {
    const name = value.toLowerCase();
    if (name === 'sse') {
      return 'sse';
    }
    if (!HTTP_NAMES.has(name) && !UNSPECIFIC_NAMES.has(name)) {
      context.issues.push({
        code: 'custom',
        message: 'must be "http" or "sse" for a server with a "url"',
        input: value,
      });
      return z.NEVER;
    }
    return 'auto';
  })
  .optional();

/** A name of RFC 9110; what else there may be in it would be a second header. */
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~\w-]+$/, 'must be the name of a header');

/** A client that was registered by hand. The names are those of Claude Code, where it has them. */
const oauth = z.looseObject({
  clientId: text.min(1).optional(),
  clientSecret: text.min(1).optional(),
  clientMetadataUrl: z.url({ protocol: /^https$/, error: 'must be an https: address' }).optional(),
  scope: text.optional(),
  callbackPort: z.int('must be a port').min(1, 'must be a port').max(65_535, 'must be a port').optional(),
});

/** One entry that names a `url`. `type` and `transport` mean the same; `timeout` comes out as milliseconds per call. */
export const RemoteEntrySchema = z.looseObject({
  url: text.min(1, 'must be an address such as "https://example.org/mcp"'),
  headers: z.record(headerName, scalar).default({}),
  type: transport,
  transport,
  oauth: oauth.optional(),
  ...COMMON_ENTRY_KEYS,
});

export type RemoteEntry = z.infer<typeof RemoteEntrySchema>;

/** Keys of such an entry that mean something here. */
export const KNOWN_REMOTE_KEYS: ReadonlySet<string> = new Set(Object.keys(RemoteEntrySchema.shape));

/**
 * What is wrong with an address or the headers once variables were put in; undefined when nothing is. An address with
 * references to files or commands is looked at when they are put in, too.
 */
export function explainRemoteValues(url: string, headers: Readonly<Record<string, string>>): string | undefined {
  const fault = url.match(REFERENCE) === null ? explainUrl(url) : undefined;
  const bad = Object.entries(headers).find(([, value]) => !/^[\t\x20-\x7e\x80-\xff]*$/.test(value));
  return (
    fault ?? (bad === undefined ? undefined : `has a header "${bad[0]}" with a character that a header cannot have`)
  );
}

/** What is wrong with an address; undefined when nothing is. It is not repeated: keys are often a part of it. */
export function explainUrl(url: string): string | undefined {
  if (!URL.canParse(url)) {
    return 'has a "url" that is not a full address such as "https://example.org/mcp"';
  }
  const { protocol } = new URL(url);
  return protocol === 'http:' || protocol === 'https:'
    ? undefined
    : `has a "url" with the scheme "${protocol}"; it must be http: or https:`;
}
