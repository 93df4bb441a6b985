/** Decodes OTLP as collectors do: the messages of opentelemetry-proto 1.x, as far as the tests read them, from protobuf. */

/** The fields of a message by number, each with its values in order. */
type Fields = ReadonlyMap<number, readonly (bigint | Buffer)[]>;

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

function fieldsOf(message: Buffer): Fields {
  const fields = new Map<number, (bigint | Buffer)[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        return value;
      }
    }
  };
  const bytes = (count: number): Buffer => {
    at += count;
    return message.subarray(at - count, at);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const kinds: Readonly<Record<number, () => bigint | Buffer>> = {
      [VARINT]: varint,
      [FIXED64]: () => bytes(8),
      [BYTES]: () => bytes(Number(varint())),
      [FIXED32]: () => bytes(4),
    };
    const read = kinds[tag & 7];
    if (read === undefined) {
      throw new Error(`no wire type ${tag & 7} in OTLP`);
    }
    const number = tag >>> 3;
    fields.set(number, [...(fields.get(number) ?? []), read()]);
  }
  return fields;
}

const messages = (fields: Fields, number: number): Fields[] =>
  (fields.get(number) ?? []).map((value) => fieldsOf(value as Buffer));
const message = (fields: Fields, number: number): Fields => messages(fields, number)[0] ?? new Map();
const buffer = (fields: Fields, number: number): Buffer =>
  (fields.get(number)?.[0] as Buffer | undefined) ?? Buffer.alloc(0);
const text = (fields: Fields, number: number): string => buffer(fields, number).toString('utf8');
const hex = (fields: Fields, number: number): string => buffer(fields, number).toString('hex');
const whole = (fields: Fields, number: number): number => Number((fields.get(number)?.[0] as bigint | undefined) ?? 0n);
const fixed = (fields: Fields, number: number): bigint =>
  fields.has(number) ? buffer(fields, number).readBigUInt64LE() : 0n;

export type Value = string | boolean | number | readonly Value[];
export type Attributes = Readonly<Record<string, Value>>;

/** `AnyValue`, without key-value lists, which the bridge does not send. */
function valueOf(fields: Fields): Value {
  const [number = 0] = fields.keys();
  switch (number) {
    case 1:
      return text(fields, 1);
    case 2:
      return whole(fields, 2) === 1;
    case 3:
      return Number(BigInt.asIntN(64, fields.get(3)?.[0] as bigint));
    case 4:
      return buffer(fields, 4).readDoubleLE();
    case 5:
      return messages(message(fields, 5), 1).map(valueOf);
    default:
      throw new Error(`no value of kind ${number} is expected`);
  }
}

function attributesOf(fields: Fields, number: number): Attributes {
  return Object.fromEntries(messages(fields, number).map((pair) => [text(pair, 1), valueOf(message(pair, 2))]));
}

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];

export interface ReceivedSpan {
  readonly service: Value | undefined;
  readonly resource: Attributes;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: string | undefined;
  readonly attributes: Attributes;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 2 is an error. */
  readonly status: { readonly code: number; readonly message: string };
  /** Nanoseconds since 1970. */
  readonly start: bigint;
  readonly end: bigint;
}

/** The spans of an `ExportTraceServiceRequest`. */
export function readSpans(body: Buffer): ReceivedSpan[] {
  return messages(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const resource = attributesOf(message(resourceSpans, 1), 1);
    const spans = messages(resourceSpans, 2).flatMap((scope) => messages(scope, 2));
    return spans.map((span) => ({
      service: resource['service.name'],
      resource,
      traceId: hex(span, 1),
      spanId: hex(span, 2),
      traceState: text(span, 3),
      parentId: hex(span, 4),
      name: text(span, 5),
      kind: KINDS[whole(span, 6)],
      start: fixed(span, 7),
      end: fixed(span, 8),
      attributes: attributesOf(span, 9),
      links: messages(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
      status: { message: text(message(span, 15), 2), code: whole(message(span, 15), 3) },
    }));
  });
}

export interface ReceivedPoint {
  readonly name: string;
  readonly unit: string;
  readonly attributes: Attributes;
  /** Of a sum its value, of a histogram the sum of its values. */
  readonly value: number;
  /** Of a histogram. */
  readonly count: number | undefined;
}

/** The points of an `ExportMetricsServiceRequest`. */
export function readPoints(body: Buffer): ReceivedPoint[] {
  const scopes = messages(fieldsOf(body), 1).flatMap((resource) => messages(resource, 2));
  return scopes
    .flatMap((scope) => messages(scope, 2))
    .flatMap((metric) => {
      const named = { name: text(metric, 1), unit: text(metric, 3) };
      const sums = messages(message(metric, 7), 1).map((point) => ({
        ...named,
        attributes: attributesOf(point, 7),
        value: point.has(6) ? Number(buffer(point, 6).readBigInt64LE()) : buffer(point, 4).readDoubleLE(),
        count: undefined,
      }));
      const histograms = messages(message(metric, 9), 1).map((point) => ({
        ...named,
        attributes: attributesOf(point, 9),
        value: buffer(point, 5).readDoubleLE(),
        count: Number(fixed(point, 4)),
      }));
      return [...sums, ...histograms];
    });
}
