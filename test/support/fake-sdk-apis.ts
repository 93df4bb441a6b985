/**
 * The APIs that the programs in `test/fixtures/egress` use, with as much behavior as the real SDKs need. Each refuses by 401 what does
 * not carry its canary: the value of a key that the bridge holds and that code must never see.
 */
import { createHash } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { isSigned, payloadOf } from './aws-signature.ts';
import { type ApiCall, type Route, routes, sendEvents, sendJson } from './routes.ts';

export interface SdkApi {
  readonly hosts: readonly string[];
  /** The variables that programs read, with the canaries that the API wants instead. */
  readonly keys: Readonly<Record<string, string>>;
  readonly serve: RequestListener;
}

const AWS_ID = 'AKIACANARY7Q2XW5TZ3M';
const AWS_SECRET = 'canary/aws+Vb81kQz7LwYp3Rj6TnXd2sHf9Gm';
const TWILIO_TOKEN = 'canary0twilio4c1d9e7b35a8f6220d';
const PLAIN_KEY = 'canary-plain-Hy6&=+/%7sK2';

function bearer(key: string): (call: ApiCall) => boolean {
  return ({ headers }) => headers.authorization === `Bearer ${key}`;
}

function basic(user: string, password: string): (call: ApiCall) => boolean {
  const wanted = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  return ({ headers }) => headers.authorization === wanted;
}

function byBearer(variable: string, key: string, hosts: readonly string[], table: Record<string, Route>): SdkApi {
  return { hosts, keys: { [variable]: key }, serve: routes(bearer(key), table) };
}

const CUSTOMERS = Array.from({ length: 5 }, (_, at) => ({
  id: `cus_${at}`,
  object: 'customer',
  name: `Customer ${at}`,
}));
const stripe = byBearer('STRIPE_API_KEY', 'sk_test_canary51HqLyjWDarjtT1zdp7dc', ['api.stripe.com'], {
  'POST /v1/customers': (call) => ({ id: 'cus_new', object: 'customer', email: call.fields()['email'] }),
  'GET /v1/customers': ({ url }) => {
    const first = CUSTOMERS.findIndex(({ id }) => id === url.searchParams.get('starting_after')) + 1;
    const last = first + Number(url.searchParams.get('limit'));
    const data = CUSTOMERS.slice(first, last);
    return { object: 'list', url: '/v1/customers', has_more: last < CUSTOMERS.length, data };
  },
});

const WORDS = ['Keys ', 'stay ', 'home.'];
const openai = byBearer('OPENAI_API_KEY', 'sk-proj-canary9fKq3ZrT8wLmXv', ['api.openai.com'], {
  'POST /v1/chat/completions': (call) => {
    const { model, stream } = call.fields();
    const common = { id: 'chatcmpl-1', created: 1_700_000_000, model };
    if (stream !== true) {
      const message = { role: 'assistant', content: WORDS.join('') };
      return { ...common, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] };
    }
    const parts = WORDS.map((content) => ({
      ...common,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { content }, finish_reason: null }],
    }));
    return sendEvents(call.response, [...parts, '[DONE]']);
  },
});

const ANTHROPIC_KEY = 'sk-ant-api03-canary5TgBnHy6UjM';
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-test',
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 3 },
};
const anthropic: SdkApi = {
  hosts: ['api.anthropic.com'],
  keys: { ANTHROPIC_API_KEY: ANTHROPIC_KEY },
  // Versions of the SDK before 1.0 use the first.
  serve: routes((call) => call.headers['x-api-key'] === ANTHROPIC_KEY || bearer(ANTHROPIC_KEY)(call), {
    'POST /v1/messages': (call) => {
      if (call.fields()['stream'] !== true) {
        return { ...MESSAGE, content: [{ type: 'text', text: WORDS.join('') }] };
      }
      return sendEvents(call.response, [
        { type: 'message_start', message: { ...MESSAGE, content: [] } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        ...WORDS.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 3 } },
        { type: 'message_stop' },
      ]);
    },
  }),
};

const slack = byBearer('SLACK_BOT_TOKEN', 'xoxb-canary-2047-Wq8ZxC', ['slack.com', 'www.slack.com'], {
  'POST /api/chat.postMessage': (call) => {
    const { channel, text } = call.fields();
    return { ok: true, channel, ts: '1700000000.000100', message: { text } };
  },
});

const GITHUB = 'https://api.github.com';
const GITHUB_KEY = 'ghp_canary7UjMkI8oLpQaZ3xSwE2cVf';
const github: SdkApi = {
  hosts: ['api.github.com'],
  keys: { GITHUB_TOKEN: GITHUB_KEY },
  serve: routes(({ headers }) => /^(?:token|Bearer) (.*)$/.exec(headers.authorization ?? '')?.[1] === GITHUB_KEY, {
    'GET /repos/octo/demo': () => ({ id: 1, name: 'demo', full_name: 'octo/demo', url: `${GITHUB}/repos/octo/demo` }),
    'POST /repos/octo/demo/issues': (call) => {
      const issue = { ...issueOf(4), title: call.fields()['title'] };
      sendJson(call.response, issue, { status: 201, headers: { location: issue.url } });
    },
    'GET /repos/octo/demo/issues': ({ url, response }) => {
      const page = Number(url.searchParams.get('page') ?? 1);
      const next = `<${GITHUB}/repos/octo/demo/issues?page=${page + 1}>; rel="next"`;
      sendJson(response, [issueOf(page)], page < 3 ? { headers: { link: next } } : {});
    },
  }),
};

function issueOf(number: number) {
  return { id: number, number, title: `Issue ${number}`, url: `${GITHUB}/repos/octo/demo/issues/${number}` };
}

/** The account is no secret; it is in the path. */
const TWILIO_ACCOUNT = `AC${'0'.repeat(32)}`;
const twilio: SdkApi = {
  hosts: ['api.twilio.com'],
  keys: { TWILIO_AUTH_TOKEN: TWILIO_TOKEN },
  serve: routes(basic(TWILIO_ACCOUNT, TWILIO_TOKEN), {
    [`POST /2010-04-01/Accounts/${TWILIO_ACCOUNT}/Messages.json`]: (call) => {
      const { Body: body, To: to } = call.fields();
      sendJson(call.response, { sid: 'SM1', account_sid: TWILIO_ACCOUNT, body, to, status: 'queued' }, { status: 201 });
    },
  }),
};

const IDENTITY = `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>
<Arn>arn:aws:iam::123456789012:user/demo</Arn><UserId>AIDA</UserId><Account>123456789012</Account>
</GetCallerIdentityResult></GetCallerIdentityResponse>`;

/** With the store of its objects. */
function createAws(): SdkApi {
  const objects = new Map<string, Buffer>();
  const isAllowed = (call: ApiCall): boolean => isSigned(call, AWS_ID, AWS_SECRET);
  const serveS3 = routes(isAllowed, {
    'PUT /*': (call) => {
      const payload = payloadOf(call);
      if (payload !== undefined) {
        objects.set(call.url.pathname, payload);
      }
      call.response.writeHead(payload === undefined ? 400 : 200, { etag: '"1"' }).end();
    },
    'GET /*': ({ url, response }) => {
      const body = objects.get(url.pathname);
      response.writeHead(body === undefined ? 404 : 200, { etag: '"1"' }).end(body);
    },
  });
  const serveOthers = routes(isAllowed, {
    'POST /': (call) => {
      if (call.headers['x-amz-target'] === 'DynamoDB_20120810.GetItem') {
        const item = { id: { S: 'one' }, count: { N: '7' } };
        return sendJson(call.response, { Item: item }, { headers: { 'content-type': 'application/x-amz-json-1.0' } });
      }
      call.response.writeHead(200, { 'content-type': 'text/xml' }).end(IDENTITY);
      return undefined;
    },
  });
  return {
    hosts: ['*.s3.amazonaws.com', '*.s3.us-east-1.amazonaws.com', '*.us-east-1.amazonaws.com'],
    keys: { AWS_ACCESS_KEY_ID: AWS_ID, AWS_SECRET_ACCESS_KEY: AWS_SECRET },
    serve: (request, response) =>
      (request.headers.host?.includes('.s3.') === true ? serveS3 : serveOthers)(request, response),
  };
}

const notion = byBearer('NOTION_TOKEN', 'ntn_canary4820Qw3Er5Ty', ['api.notion.com'], {
  'POST /v1/pages': (call) => ({ object: 'page', id: 'page-1', parent: call.fields()['parent'] }),
  'GET /v1/pages/*': ({ url }) => ({ object: 'page', id: url.pathname.split('/').at(-1) }),
});

const sendgrid = byBearer('SENDGRID_API_KEY', 'SG.canary6YhN.7uJmKi8', ['api.sendgrid.com'], {
  'POST /v3/mail/send': ({ response }) => {
    response.writeHead(202, { 'x-message-id': 'mail-1' }).end();
  },
});

const airtable = byBearer('AIRTABLE_API_KEY', 'patcanary3EdC4rFv.5tGb', ['api.airtable.com'], {
  'GET /v0/appDemo/People': ({ url }) => {
    const at = Number(url.searchParams.get('offset') ?? 0);
    const records = [{ id: `rec${at}`, createdTime: '2026-01-01T00:00:00.000Z', fields: { Name: `Person ${at}` } }];
    return at < 2 ? { records, offset: String(at + 1) } : { records };
  },
  'POST /v0/appDemo/People': (call) => ({ ...call.fields(), id: 'recNew', createdTime: '2026-01-01T00:00:00.000Z' }),
});

const CONTACT_TIMES = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z', archived: false };
const hubspot = byBearer('HUBSPOT_ACCESS_TOKEN', 'pat-eu1-canary-9dC8b7A6', ['api.hubapi.com'], {
  'POST /crm/v3/objects/contacts': (call) => {
    const { properties } = call.fields();
    sendJson(call.response, { id: '101', properties, ...CONTACT_TIMES }, { status: 201 });
  },
});

/** Takes its key in every place that an API may want one: a header, the query, basic credentials. */
const plain: SdkApi = {
  hosts: ['api.example.com'],
  keys: { PLAIN_API_KEY: PLAIN_KEY },
  serve: routes(
    (call) =>
      [bearer(PLAIN_KEY), basic('agent', PLAIN_KEY)].some((isAllowed) => isAllowed(call)) ||
      call.url.searchParams.get('api_key') === PLAIN_KEY,
    {
      'GET /v1/items': ({ url }) => ({ page: url.searchParams.get('page'), items: [1, 2, 3] }),
      'HEAD /v1/items': ({ response }) => response.writeHead(200, { 'x-total': '3' }).end() && undefined,
      'GET /v1/moved': ({ response }) => response.writeHead(302, { location: '/v1/items?page=2' }).end() && undefined,
      'GET /v1/packed': ({ response }) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('a'.repeat(100_000))) && undefined,
      'GET /v1/events': ({ response }) => sendEvents(response, WORDS),
      'GET /v1/file': ({ response }) => response.writeHead(200).end(Buffer.alloc(5_000_000, 'f')) && undefined,
      'POST /v1/file': ({ body }) => ({ bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') }),
      'DELETE /v1/items': ({ response }) => response.writeHead(204).end() && undefined,
    },
  ),
};

/** By name. New ones for each test, because AWS remembers objects. */
export function createSdkApis(): Readonly<Record<string, SdkApi>> {
  const aws = createAws();
  return { stripe, openai, anthropic, slack, github, twilio, aws, notion, sendgrid, airtable, hubspot, plain };
}

/** As `startFakeInternet` takes them. */
export function byHost(apis: Readonly<Record<string, SdkApi>>): Record<string, RequestListener> {
  return Object.fromEntries(Object.values(apis).flatMap(({ hosts, serve }) => hosts.map((host) => [host, serve])));
}
