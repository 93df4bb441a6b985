/** The schema of `egress` in an entry: what code may send to an API itself, and the credentials that the host adds. */
import { z } from 'zod';
import { EGRESS_METHODS, type EgressSource, explainHost } from '../../core/base/egress.ts';
import { parseDurationMs } from '../../core/base/units.ts';
import { scalar, text } from './entry-schema.ts';

/** Chosen: an API has few. */
const MAX_HOSTS = 100;
const MAX_PATHS = 100;
const MAX_STARS = 10;
const MAX_KEYS = 20;
const MIN_EXPIRY_MS = 60_000;
const VARIABLE = /^[A-Za-z_]\w{0,99}$/;
/** Set by the bridge or by the system for every program of a sandbox. */
const TAKEN_VARIABLE =
  /^(?:(?:https?|all|no)_proxy|path|home|lang|pwd|shell|user|ld_.*|python.*|.*_ca_bundle|ssl_cert_.*|.*_ca_certs?)$/i;

const host = text.superRefine((value, context) => {
  const fault = explainHost(value);
  if (fault !== undefined) {
    context.addIssue({ code: 'custom', message: fault });
  }
});

const path = text
  .regex(/^[/*]/, 'must begin with "/", such as "/v1/*"')
  .refine((value) => value.split('*').length - 1 <= MAX_STARS, `must have at most ${MAX_STARS} "*"`);

const method = z
  .string()
  .transform((value) => value.toUpperCase())
  .pipe(z.enum(EGRESS_METHODS, `must be one of ${EGRESS_METHODS.join(', ')}`));

const prefix = z.string().regex(/^[\w.~-]{0,20}$/, 'must have at most 20 letters, digits and "_", "-", ".", "~"');
const key = z.union(
  [scalar.transform((value) => ({ value, prefix: '' })), z.strictObject({ value: scalar, prefix: prefix.default('') })],
  'must be a value such as "${secret:NAME}", or {"value": …, "prefix": "sk_"}',
);
const variable = z
  .string()
  .regex(VARIABLE, 'must be the name of a variable')
  .refine((name) => !TAKEN_VARIABLE.test(name), 'is a variable that the bridge sets itself');

const aws = z.strictObject({
  accessKeyId: text.min(1),
  secretAccessKey: text.min(1),
  sessionToken: text.optional(),
  region: text.optional(),
  service: text.optional(),
});

const jwt = z.strictObject({
  algorithm: z.enum(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384', 'EdDSA']),
  key: text.min(1),
  keyId: text.optional(),
  claims: z.record(z.string(), z.unknown()).default({}),
  expires: z
    .string()
    .refine((value) => parseDurationMs(value) >= MIN_EXPIRY_MS, 'must be a duration of a minute or more, such as "10m"')
    .default('10m'),
  header: z
    .string()
    .regex(/^[\w-]+$/, 'must be the name of a header')
    .default('authorization'),
});

/** `true` allows everything at the origin of `url`. */
export const EgressSchema = z.preprocess(
  (value) => (value === true ? {} : value),
  z.strictObject(
    {
      hosts: z.array(host).max(MAX_HOSTS).default([]),
      methods: z.array(method).min(1).optional(),
      paths: z.array(path).min(1).max(MAX_PATHS).optional(),
      private: z.boolean().default(false),
      keys: z
        .record(variable, key)
        .refine((keys) => Object.keys(keys).length <= MAX_KEYS, `must be at most ${MAX_KEYS}`)
        .default({}),
      sign: z
        .strictObject({ aws: aws.optional(), jwt: jwt.optional() })
        .refine((sign) => sign.aws === undefined || sign.jwt === undefined, 'must be "aws" or "jwt", not both')
        .default({}),
    },
    { error: (issue) => (issue.code === 'unrecognized_keys' ? undefined : 'must be true or an object') },
  ),
);

export type EgressEntry = z.output<typeof EgressSchema>;

/** The variables in which the SDKs of AWS look for keys. */
const AWS_PLACEHOLDERS = { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: '' };

/** What a definition has of such an entry. Its texts may hold references. */
export function egressOf({ hosts, keys, methods, paths, private: isPrivate, sign }: EgressEntry): {
  readonly egress: EgressSource;
  readonly keys: Readonly<Record<string, string>>;
  readonly signing: Readonly<Record<string, string>> | undefined;
} {
  const { aws: forAws, jwt: forJwt } = sign;
  const values = Object.entries(keys).map(([name, { value }]) => [name, value]);
  const prefixes = Object.entries(keys).map(([name, { prefix: start }]) => [name, start]);
  const ofAws =
    forAws === undefined
      ? {}
      : { AWS_ACCESS_KEY_ID: forAws.accessKeyId, AWS_SECRET_ACCESS_KEY: forAws.secretAccessKey };
  return {
    egress: {
      hosts,
      methods,
      paths,
      isPrivate,
      prefixes: { ...(forAws === undefined ? {} : AWS_PLACEHOLDERS), ...Object.fromEntries(prefixes) },
    },
    keys: { ...ofAws, ...Object.fromEntries(values) },
    signing: forAws === undefined ? forJwt && jwtTexts(forJwt) : textsOf({ kind: 'aws', ...forAws }),
  };
}

function jwtTexts({ algorithm, claims, expires, header, key: secret, keyId }: NonNullable<EgressEntry['sign']['jwt']>) {
  return textsOf({
    kind: 'jwt',
    algorithm,
    claims: JSON.stringify(claims),
    expires,
    header: header.toLowerCase(),
    key: secret,
    keyId,
  });
}

function textsOf(record: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const given = Object.entries(record).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return Object.fromEntries(given);
}
