/** Entries of remote servers: `url` with `headers`, as clients write them; and of APIs, with a description beside them. */
import { z } from 'zod';
import { EgressSchema } from './egress-entry.ts';
import { COMMON_ENTRY_KEYS, scalar, text } from './entry-schema.ts';
import { REFERENCE } from './expand.ts';

/** Names that clients use for Streamable HTTP, which is tried first anyway. */
const HTTP_NAMES: ReadonlySet<string> = new Set(['http', 'streamable-http', 'streamablehttp', 'streamable_http']);
/** Names used by OpenCode and Codex, which do not say which transport it is. VS Code and Gemini use none. */
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

/** A field name of RFC 9110; other characters could inject another header. */
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~\w-]+$/, 'must be the name of a header');

/** An OAuth client that was registered by hand. The keys are those of Claude Code, where it has them. */
const oauth = z.looseObject({
  clientId: text.min(1).optional(),
  clientSecret: text.min(1).optional(),
  clientMetadataUrl: z.url({ protocol: /^https$/, error: 'must be an https: address' }).optional(),
  issuer: text.min(1).optional(),
  scope: text.optional(),
  callbackPort: z.int('must be a port').min(1, 'must be a port').max(65_535, 'must be a port').optional(),
});

const description = text.min(1, 'must name a file or an address');

/** One entry with a `url`. `type` and `transport` are synonyms. `timeout` is converted to milliseconds per call. */
export const RemoteEntrySchema = z.looseObject({
  url: text.min(1, 'must be an address such as "https://example.org/mcp"'),
  headers: z.record(headerName, scalar).default({}),
  type: transport,
  transport,
  oauth: oauth.optional(),
  /** The description of an API with OpenAPI, or Swagger 2.0. */
  openapi: description.optional(),
  /** The schema of a GraphQL API; `true` asks the API for it. */
  graphql: z.union([z.literal(true), description], 'must be true, a file or an address').optional(),
  /** What code may send to the API itself. Without a description, its tools are the methods of HTTP. */
  egress: EgressSchema.optional(),
  ...COMMON_ENTRY_KEYS,
});

export type RemoteEntry = z.infer<typeof RemoteEntrySchema>;

/** The keys of such an entry that the bridge uses. */
export const KNOWN_REMOTE_KEYS: ReadonlySet<string> = new Set(Object.keys(RemoteEntrySchema.shape));

/**
 * What is wrong with the address or the headers after variables were expanded; undefined if nothing is. An address with
 * references to files or commands is checked after those are resolved.
 */
export function explainRemoteValues(url: string, headers: Readonly<Record<string, string>>): string | undefined {
  const fault = url.match(REFERENCE) === null ? explainUrl(url) : undefined;
  const bad = Object.entries(headers).find(([, value]) => !/^[\t\x20-\x7e\x80-\xff]*$/.test(value));
  return (
    fault ?? (bad === undefined ? undefined : `has a header "${bad[0]}" with a character that headers cannot contain`)
  );
}

/** What is wrong with an address; undefined if nothing is. Does not repeat the address, which often contains a key. */
export function explainUrl(url: string): string | undefined {
  if (!URL.canParse(url)) {
    return 'has a "url" that is not a full address such as "https://example.org/mcp"';
  }
  const { protocol } = new URL(url);
  return protocol === 'http:' || protocol === 'https:'
    ? undefined
    : `has a "url" with the scheme "${protocol}"; it must be http: or https:`;
}
