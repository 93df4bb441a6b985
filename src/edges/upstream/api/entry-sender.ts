/** Sends requests with everything that an entry with `egress` adds: headers, keys in the place of placeholders, and signatures. */
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { EgressRules, type EgressSource } from '../../../core/base/egress.ts';
import { BridgeError } from '../../../core/base/errors.ts';
import { parseJson } from '../../../core/base/json-text.ts';
import { placeholderFor } from '../../../core/base/placeholder.ts';
import type { RemoteDefinition } from '../../../core/base/server-definition.ts';
import { parseDurationMs } from '../../../core/base/units.ts';
import type { AwsSigning } from '../egress/aws-signing.ts';
import type { JwtSigning } from '../egress/jwt-signing.ts';
import { EgressSender, type EgressSenderOptions } from '../egress/sender.ts';
import { type AddressRule, anyAddress, isThisMachine, publicAddress } from '../http/addresses.ts';
import type { HttpRequest, HttpResponse } from '../http/http-client.ts';
import type { RemoteAddress } from '../http/remote-client.ts';

interface EntrySenderOptions {
  readonly address: RemoteAddress;
  readonly masksSecrets: boolean;
  /** What placeholders derive from; undefined if no sandbox has any. */
  readonly seed: Buffer | undefined;
}

export type EgressDefinition = RemoteDefinition & { readonly egress: EgressSource };

/** @param definition with its references resolved. */
export function createEntrySender(
  { egress, keys = {}, name: server, signing, url }: EgressDefinition,
  { address, masksSecrets, seed = randomBytes(32) }: EntrySenderOptions,
): EgressSender {
  return new EgressSender({
    headers: address.headers,
    keys: Object.entries(keys).map(([name, value]) => ({
      name,
      value,
      placeholder: placeholderFor(seed, { server, name, prefix: egress.prefixes[name] }),
    })),
    sign: signing && signingOf(signing),
    proxies: address.proxies,
    rule: ruleFor(new EgressRules(url, egress)),
    masksSecrets,
  });
}

/** As `egressOf` has written it. */
function signingOf(texts: Readonly<Record<string, string>>): EgressSenderOptions['sign'] {
  const { claims = '{}', expires = '', kind } = texts;
  const parsed = parseJson(claims);
  if ('fault' in parsed) {
    throw new BridgeError('CONFIG_INVALID', 'with their references filled in, the "claims" of "sign" are no JSON');
  }
  return kind === 'aws'
    ? (texts as unknown as AwsSigning)
    : ({
        ...texts,
        claims: parsed.value as JwtSigning['claims'],
        expiresSeconds: Math.floor(parseDurationMs(expires) / 1000),
      } as unknown as JwtSigning);
}

/** An address that the entry names may be anywhere; what a name leads to must be on the internet, unless the entry says otherwise. */
function ruleFor({ hosts, source }: EgressRules): AddressRule {
  if (source.isPrivate) {
    return anyAddress;
  }
  const namesThisMachine = hosts.some(isThisMachine);
  return (address) =>
    hosts.includes(address) || (namesThisMachine && isThisMachine(address)) ? undefined : publicAddress(address);
}

/** The same as a client of an API, for requests of its tools. */
export class EntryClient {
  readonly #sender: EgressSender;

  constructor(sender: EgressSender) {
    this.#sender = sender;
  }

  /** Rejects with a `BridgeError`. */
  async send({
    body,
    headers,
    method,
    signal = new AbortController().signal,
    url,
  }: HttpRequest): Promise<HttpResponse> {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const length = Buffer.isBuffer(bytes) ? [['content-length', String(bytes.length)] as const] : [];
    const answer = await this.#sender.send({
      method,
      url,
      headers: [...Object.entries(headers), ...length],
      body:
        bytes instanceof Readable ? bytes : Readable.from(bytes === undefined ? [] : [bytes], { objectMode: false }),
      signal,
    });
    const read = Buffer.isBuffer(answer.body) ? Readable.from([answer.body], { objectMode: false }) : answer.body;
    return { status: answer.status, headers: headersOf(answer.headers), body: read, url, from: undefined };
  }

  close(): void {
    this.#sender.close();
  }
}

/** As Node joins them. */
function headersOf(pairs: readonly (readonly [name: string, value: string])[]): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = Object.create(null) as IncomingHttpHeaders;
  for (const [name, value] of pairs) {
    const key = name.toLowerCase();
    const before = headers[key];
    headers[key] = before === undefined ? value : `${String(before)}, ${value}`;
  }
  return headers;
}
