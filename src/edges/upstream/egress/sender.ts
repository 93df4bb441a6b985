/**
 * Sends requests of code in the sandbox to the hosts of one entry, with the entry's credentials, after the gates have allowed them. What
 * comes back has the secrets masked. Redirects are not followed: the library in the sandbox does that, and each request is judged.
 */

import type { EgressAnswer, EgressRequest } from '../../../core/base/egress-exchange.ts';
import { BridgeError } from '../../../core/base/errors.ts';
import { AddressRefusedError, type AddressRule, hostOf, type Resolve } from '../http/addresses.ts';
import { plainName } from '../http/entry-headers.ts';
import { HttpClient, type HttpRequest } from '../http/http-client.ts';
import type { ProxyChoice } from '../http/proxies.ts';
import { brokenOff, unreachable } from '../http/remote-failure.ts';
import { secretsOf } from '../secrets.ts';
import { answerOf } from './answer.ts';
import { type AwsSigning, awsScopeOf, sha256, signAws } from './aws-signing.ts';
import { type JwtSigning, JwtSource } from './jwt-signing.ts';
import { createPlaceholders, type EgressKey, type Placeholders } from './placeholders.ts';
import { MAX_HEADER_BYTES, refused, requestHeaders } from './request-headers.ts';
import { type Silence, watchSilence } from './silence.ts';
import { createStreamMask, type StreamMask } from './stream-mask.ts';
import { Upload } from './upload.ts';

export interface SenderLimits {
  readonly maxBodyBytes: number;
  readonly maxSilenceMs: number;
  readonly maxHashedBytes: number;
}

const LIMITS: SenderLimits = {
  /** Of a body, each way, after it is decoded. Chosen: files of models and backups are larger, and come in parts. */
  maxBodyBytes: 1024 ** 3,
  /** In which no byte moves. Chosen: streams of events pause, and the longest requests to models take minutes. */
  maxSilenceMs: 5 * 60_000,
  /** Of a body that is kept to sign it. Chosen: services that want that take small requests; S3 does not want it. */
  maxHashedBytes: 16 * 1024 * 1024,
};
/** They connect to something, or make the server repeat the credentials of the request (TRACE). */
const REFUSED_METHODS = /^(?:connect|trace|track)$/i;
const METHOD = /^[\w!#$%&'*+.^`|~-]{1,40}$/;
/** The codes of Node for a head that is too long, and for an answer that is not HTTP. */
const HEAD_TOO_LONG = 'HPE_HEADER_OVERFLOW';
const NOT_HTTP = /^HPE_/;

export interface EgressSenderOptions {
  /** Set by the host, with their references resolved. */
  readonly headers: Readonly<Record<string, string>>;
  readonly keys: readonly EgressKey[];
  readonly sign?: AwsSigning | JwtSigning | undefined;
  readonly proxies: ProxyChoice;
  readonly rule: AddressRule;
  readonly masksSecrets: boolean;
  readonly resolve?: Resolve | undefined;
  /** Certificates of authorities as PEM, instead of those of Node. */
  readonly certificates?: string | undefined;
  readonly limits?: Partial<SenderLimits>;
}

export class EgressSender {
  readonly #options: EgressSenderOptions;
  readonly #limits: SenderLimits;
  readonly #http: HttpClient;
  readonly #placeholders: Placeholders;
  readonly #tokens: JwtSource | undefined;
  readonly #secrets: readonly string[];
  /** For the token that was sent last. */
  #mask: { readonly token: string | undefined; readonly mask: StreamMask } | undefined;

  constructor(options: EgressSenderOptions) {
    const { certificates, keys, proxies, resolve, rule, sign } = options;
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#http = new HttpClient({ rule: () => rule, isRuleFixed: true, proxies, resolve, certificates });
    this.#placeholders = createPlaceholders(keys);
    this.#tokens = sign?.kind === 'jwt' ? new JwtSource(sign) : undefined;
    this.#secrets = secretsIn(options);
  }

  /** Resolves with the head of the answer. Rejects with a `BridgeError`, and so does its body. */
  async send(request: EgressRequest): Promise<EgressAnswer> {
    const host = hostOf(request.url);
    const silence = watchSilence(request.signal, this.#limits.maxSilenceMs, host);
    let mask = this.#maskFor(undefined);
    const explain = (error: unknown, hasBegun: boolean): BridgeError =>
      explained(error, hasBegun, { host, silence, mask });
    try {
      const token = await this.#tokens?.token();
      mask = this.#maskFor(token);
      return await this.#exchange(request, token, { mask, silence, explain });
    } catch (error) {
      silence.end();
      new Upload(request.body, { maxBytes: 0, length: undefined, touch: silence.touch }).discard();
      throw explain(error, false);
    }
  }

  /** Closes every connection. */
  close(): void {
    this.#http.close();
  }

  async #exchange(request: EgressRequest, token: string | undefined, watch: Watch): Promise<EgressAnswer> {
    const { maxBodyBytes } = this.#limits;
    const head = this.#headOf(request, token);
    const length = head.headers['content-length'];
    const upload = new Upload(request.body, {
      maxBytes: maxBodyBytes,
      length: length === undefined ? undefined : Number(length),
      touch: watch.silence.touch,
    });
    const whole = await this.#withBody(head, upload);
    watch.silence.signal.throwIfAborted();
    const response = await this.#http.sendAgain({
      ...whole,
      signal: watch.silence.signal,
      followsRedirects: false,
      maxHeadBytes: MAX_HEADER_BYTES,
    });
    return answerOf(response, {
      ...watch,
      method: request.method,
      host: hostOf(request.url),
      maxBytes: maxBodyBytes,
      outOfAddress: this.#placeholders.outOfAddress,
    });
  }

  #headOf({ headers, method, url }: EgressRequest, token: string | undefined): Head {
    const { headers: ofEntry, sign } = this.#options;
    if (!METHOD.test(method) || REFUSED_METHODS.test(method)) {
      throw refused('its method is not supported', 'Use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.');
    }
    const target = new URL(url);
    [target.username, target.password, target.hash] = ['', '', ''];
    target.search = this.#placeholders.inQuery(target.search);
    const filled = headers.map(([name, value]) => [name, this.#placeholders.inHeader(value)] as const);
    const name = sign?.kind === 'jwt' ? (sign.header ?? 'authorization') : '';
    const signed = token === undefined ? {} : { [name]: `Bearer ${token}` };
    return { method, url: target, headers: requestHeaders(filled, { ...ofEntry, ...signed }) };
  }

  /** The request with its body, and signed if the entry says so. */
  async #withBody(head: Head, upload: Upload): Promise<HttpRequest> {
    const { sign } = this.#options;
    const hasBody = await upload.hasBody();
    if (sign?.kind !== 'aws') {
      return hasBody ? { ...head, body: upload.stream() } : withoutBody(head);
    }
    const scope = awsScopeOf(head, sign);
    if (scope.payloadHash !== undefined) {
      const headers = signAws(head, sign, { ...scope, payloadHash: scope.payloadHash });
      return hasBody ? { ...head, headers, body: upload.stream() } : withoutBody({ ...head, headers });
    }
    const { maxHashedBytes } = this.#limits;
    const body = hasBody ? await upload.read(maxHashedBytes, () => tooLongToSign(maxHashedBytes)) : Buffer.alloc(0);
    const headers = signAws(head, sign, { ...scope, payloadHash: sha256(body) });
    return hasBody ? { ...head, headers, body } : withoutBody({ ...head, headers });
  }

  #maskFor(token: string | undefined): StreamMask {
    if (this.#mask === undefined || this.#mask.token !== token) {
      const secrets = this.#options.masksSecrets ? [...this.#secrets, ...(token === undefined ? [] : [token])] : [];
      this.#mask = { token, mask: createStreamMask(secrets) };
    }
    return this.#mask.mask;
  }
}

type Head = Pick<HttpRequest, 'method' | 'url' | 'headers'>;

interface Watch {
  readonly mask: StreamMask;
  readonly silence: Silence;
  readonly explain: (error: unknown, hasBegun: boolean) => BridgeError;
}

/** A request without a body says so if its method usually has one. */
function withoutBody(head: Head): HttpRequest {
  const isUsual = /^(?:POST|PUT|PATCH)$/.test(head.method);
  const headers = Object.entries(head.headers).filter(([name]) => name !== 'content-length');
  return { ...head, headers: { ...Object.fromEntries(headers), ...(isUsual && { 'content-length': '0' }) } };
}

/** What must not come back to code. `secretsOf` leaves out values that are too short to be told from data. */
function secretsIn({ headers, keys, sign }: EgressSenderOptions): string[] {
  const values = keys.map(({ value }) => value);
  const ofSigning =
    sign === undefined ? [] : sign.kind === 'aws' ? [sign.secretAccessKey, sign.sessionToken ?? ''] : [sign.key];
  const basic = Object.entries(headers)
    .filter(([name]) => plainName(name) === 'authorization')
    .map(([, value]) => /^basic +(.+)$/i.exec(value)?.[1] ?? '')
    .map((base64) =>
      Buffer.from(base64, 'base64')
        .toString()
        .replace(/^[^:]*:/, ''),
    );
  return secretsOf({ headers, secrets: [...values, ...ofSigning, ...basic] });
}

/** What failed, without any secret. `hasBegun`: the head of the answer has arrived. */
function explained(error: unknown, hasBegun: boolean, { host, silence, mask }: Place): BridgeError {
  const known = silence.signal.aborted ? silence.signal.reason : error;
  if (known instanceof BridgeError) {
    return known;
  }
  if (error instanceof AddressRefusedError) {
    return refused(
      `${host} is not reached, because ${error.reason}`,
      'Use a host of the entry that is on the internet.',
    );
  }
  const { code } = error as NodeJS.ErrnoException;
  if (code === HEAD_TOO_LONG) {
    const text = `The head of the answer of ${host} is longer than ${MAX_HEADER_BYTES} bytes.`;
    return new BridgeError('LIMIT_RESULT', text, { hint: 'The API must send fewer or shorter headers.' });
  }
  const { message } = hasBegun || NOT_HTTP.test(code ?? '') ? brokenOff(error) : unreachable(error);
  return new BridgeError('SERVER_UNREACHABLE', mask.maskText(`${host} ${message}.`), {
    hint: 'Check the host, its certificate and the network of the bridge, then try again.',
  });
}

interface Place {
  readonly host: string;
  readonly silence: Silence;
  readonly mask: StreamMask;
}

function tooLongToSign(maxBytes: number): BridgeError {
  const hint = 'Send it in parts, or with an SDK that sets x-amz-content-sha256, as those do for S3.';
  return refused(`its body is longer than ${maxBytes} bytes, and must be read whole to be signed`, hint);
}
