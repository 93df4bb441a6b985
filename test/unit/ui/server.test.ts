/** The server of the page: who may ask, its files, and what goes to bridges and comes from them. */

import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CellAnswer, Person, QuestionedCall, Reply } from '../../../src/core/base/cell.ts';
import { QuestionQueue } from '../../../src/features/waiting-questions/question-queue.ts';
import { createEndpoint } from '../../../src/record/local-api/endpoints.ts';
import {
  DoneSchema,
  FailureSchema,
  OverviewSchema,
  UiEventSchema,
  WrittenRulesSchema,
} from '../../../src/record/ui/schema.ts';
import { readFences } from '../../support/documented-samples.ts';
import { type Ask, newStateDir, startFakeBridge, startUi } from '../../support/ui-server.ts';
import { watchedRun } from '../../support/watched-run.ts';

const WAIT = { timeout: 5_000 };

/** A client whose person never answers. */
const SILENT: Person = {
  opensPages: false,
  ask: (_, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('withdrawn')));
    }),
};

describe('who may ask', () => {
  it('needs the token, its own name, and no other origin', async () => {
    const ui = await startUi();
    const host = `127.0.0.1:${ui.port}`;
    const good = { Host: host, Authorization: `Bearer ${ui.token}` };
    const statusOf = async (headers: Ask['headers']) =>
      (await ui.raw('GET', '/api/savings', { headers: headers ?? {} })).status;
    expect(await statusOf(good)).toBe(200);
    expect(await statusOf({ ...good, Host: `localhost:${ui.port}` })).toBe(200);
    expect(await statusOf({ ...good, Origin: `http://${host}` })).toBe(200);
    expect(await statusOf({ Host: host })).toBe(401);
    expect(await statusOf({ ...good, Authorization: `Bearer ${ui.token.slice(1)}` })).toBe(401);
    expect(await statusOf({ ...good, Authorization: `Basic ${ui.token}` })).toBe(401);
    expect(await statusOf({ ...good, Host: 'evil.example' })).toBe(421);
    expect(await statusOf({ ...good, Host: `evil.example:${ui.port}` })).toBe(421);
    expect(await statusOf({ ...good, Host: '127.0.0.1' })).toBe(421);
    expect(await statusOf({ ...good, Origin: 'https://evil.example' })).toBe(403);
    expect(await statusOf({ ...good, Origin: 'null' })).toBe(403);
    expect(await statusOf({ ...good, Origin: `http://localhost:${ui.port}` })).toBe(403);
    expect(await statusOf({ ...good, 'Sec-Fetch-Site': 'cross-site' })).toBe(403);
    expect(await statusOf({ ...good, 'Sec-Fetch-Site': 'same-origin' })).toBe(200);
    expect(ui.address).toBe(`http://${host}/#token=${ui.token}`);
    expect(ui.token.length).toBeGreaterThanOrEqual(43);
  });

  it('refuses with a reason, and says nothing that a page could use', async () => {
    const ui = await startUi();
    const { headers, json, status } = await ui.raw('GET', '/api/overview', {
      headers: { Host: `127.0.0.1:${ui.port}` },
    });
    expect([status, FailureSchema.parse(json)]).toMatchObject([
      401,
      { error: { hint: expect.stringContaining('ui') } },
    ]);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    });
    expect(headers['access-control-allow-origin']).toBeUndefined();
    expect((await ui.raw('OPTIONS', '/api/overview', { headers: { Host: `127.0.0.1:${ui.port}` } })).status).toBe(401);
  });
});

describe('files of the page', () => {
  it('are served without the token, with a strict policy', async () => {
    const folder = newStateDir();
    writeFileSync(join(folder, 'index.html'), '<p>the page</p>');
    writeFileSync(join(folder, 'app.js'), 'start()');
    const ui = await startUi({ pageFolder: folder });
    const headers = { Host: `127.0.0.1:${ui.port}` };
    const page = await ui.raw('GET', '/', { headers });
    expect(page).toMatchObject({ status: 200, text: '<p>the page</p>' });
    expect(page.headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(page.headers).toMatchObject({
      'referrer-policy': 'no-referrer',
      'content-type': 'text/html; charset=utf-8',
    });
    expect((await ui.raw('HEAD', '/app.js', { headers })).headers['content-type']).toContain('javascript');
    expect((await ui.raw('GET', '/app.css', { headers })).status).toBe(404);
    expect((await ui.raw('POST', '/', { headers })).status).toBe(405);
    expect((await ui.raw('GET', '/', { headers: { Host: 'evil.example' } })).status).toBe(421);
  });

  it('lead nowhere else', async () => {
    const folder = newStateDir();
    mkdirSync(join(folder, 'ui'));
    writeFileSync(join(folder, 'secret'), 'secret');
    writeFileSync(join(folder, 'ui', 'other.js'), 'secret');
    const ui = await startUi({ pageFolder: join(folder, 'ui') });
    const headers = { Host: `127.0.0.1:${ui.port}` };
    for (const path of [
      '/../secret',
      '/%2e%2e/secret',
      '/..%2fsecret',
      '/other.js',
      '//secret',
      '/__proto__',
      '/app.js/',
      '/%',
      '/api',
    ]) {
      const { status, text } = await ui.raw('GET', path, { headers });
      expect([path, status, text.includes('"error"')]).toEqual([path, path === '//secret' ? 400 : 404, true]);
    }
  });

  it('say so if they are missing', async () => {
    const ui = await startUi();
    const { status, text } = await ui.raw('GET', '/', { headers: { Host: `localhost:${ui.port}` } });
    expect([status, text]).toEqual([200, expect.stringContaining('not part of this installation')]);
  });
});

describe('requests that mean nothing', () => {
  it.each<[string, string, Ask, number]>([
    ['GET', '/api/nothing', {}, 404],
    ['GET', '/api/', {}, 404],
    ['GET', '/api/%', {}, 404],
    ['POST', '/api/overview', {}, 405],
    ['GET', '/api/stored/nothing', {}, 404],
    ['DELETE', '/api/stored/functions?id=none', {}, 404],
    ['POST', '/api/bridges/none/sessions/work/end', {}, 404],
    ['POST', '/api/cells/save-as-tool', { body: { id: 1 } }, 400],
    ['POST', '/api/cells/save-as-tool', { body: { id: 'none', name: 'f' } }, 404],
    ['GET', '/api/cells?id=none', {}, 404],
    ['GET', '/api/cells', {}, 404],
    ['GET', '/api/history?kind=nothing', {}, 400],
    ['GET', '/api/history?limit=-1', {}, 400],
    ['GET', '/api/history?since=yesterday', {}, 400],
    ['GET', '/api/history?cursor=nothing', {}, 400],
    ['GET', '/api/savings?since=%00', {}, 400],
    ['POST', '/api/servers/none/login', {}, 404],
    ['POST', '/api/servers/none/pins/accept', {}, 404],
    ['POST', '/api/cells/save-as-tool', { text: '{' }, 400],
    ['POST', '/api/cells/save-as-tool', { text: '{}', headers: { 'Content-Type': 'text/plain' } }, 415],
    ['POST', '/api/cells/save-as-tool', { text: `"${'x'.repeat(2_097_152)}"` }, 413],
    ['GET', '/api/stored/artifacts/content?id=:..%2f..%2fetc/passwd', {}, 404],
    ['GET', '/api/stored/artifacts/content?id=of-a%2f..:s/n', {}, 404],
  ])('%s %s', async (method, path, ask, wanted) => {
    const ui = await startUi();
    const { json, status } = await ui.ask(method, path, ask);
    expect(status).toBe(wanted);
    expect(FailureSchema.parse(json).error.message).not.toBe('');
  });
});

describe('bridges', () => {
  it('are shown, each with its id, and one that is gone is not', async () => {
    const ui = await startUi();
    const first = await startFakeBridge(ui.stateDir);
    const second = await startFakeBridge(ui.stateDir, { principal: 'alice' });
    const overview = OverviewSchema.parse((await ui.ask('GET', '/api/overview')).json);
    expect(overview.bridges.map(({ bridge }) => bridge)).toHaveLength(2);
    expect(new Set(overview.sessions.map(({ bridge }) => bridge)).size).toBe(2);
    expect(new Set(overview.sessions.map(({ principal }) => principal))).toEqual(new Set(['alice', undefined]));
    expect(overview).toMatchObject({
      state_dir: ui.stateDir,
      features: { audit: true, recordings: false },
      servers: [{ name: 'files', state: 'ready' }, { name: 'files' }],
      approvals: [],
    });
    await first.close();
    expect(OverviewSchema.parse((await ui.ask('GET', '/api/overview')).json).bridges).toHaveLength(1);
    await second.close();
  });

  it('send their events, merged, while they come and go', async () => {
    const ui = await startUi();
    const first = await startFakeBridge(ui.stateDir);
    const { seen } = await ui.events();
    const request = first.bridge.open({ code: '1', servers: [], timeoutMs: 5, session: 'work' });
    watchedRun(first.bridge.watch).begin({ session: 'work', generation: 1, cell: 4 }, request);
    await expect.poll(() => seen.map(({ type }) => type), WAIT).toEqual(['cell_started']);
    const second = await startFakeBridge(ui.stateDir);
    await expect.poll(() => seen.map(({ type }) => type), WAIT).toContain('bridge_started');
    void second.bridge.watch({ type: 'session_ended', run: { session: 's', generation: 2 }, reason: 'why' });
    await expect.poll(() => seen.map(({ type }) => type), WAIT).toContain('session_ended');
    await first.close();
    await expect.poll(() => seen.at(-1)?.['type'], WAIT).toBe('bridge_ended');
    const ids = new Set(seen.map(({ bridge }) => bridge));
    expect(ids.size).toBe(2);
    seen.forEach((event) => UiEventSchema.parse(event));
  });

  it('that are slow to answer keep no one from the events of the others', async () => {
    const ui = await startUi();
    const { bridge } = await startFakeBridge(ui.stateDir);
    // It accepts connections and never answers, as one that was stopped does. Its stream is given up after two seconds; what the
    // others sent until then began the answer without its headers, and the stream failed.
    const endpoint = await createEndpoint({ stateDir: ui.stateDir, hasMounts: false });
    const silent = createServer((socket) => void socket.on('error', () => undefined)).listen(endpoint.socket);
    await once(silent, 'listening');
    await endpoint.publish();
    onTestFinished(async () => {
      await endpoint.remove();
      silent.close();
    });
    const reading = ui.events();
    const request = bridge.open({ code: '1', servers: [], timeoutMs: 5, session: 'work' });
    const start = setInterval(() => {
      watchedRun(bridge.watch).begin({ session: 'work', generation: 1, cell: 4 }, request);
    }, 50);
    onTestFinished(() => clearInterval(start));
    const { seen } = await reading;
    await expect.poll(() => seen.length, WAIT).toBeGreaterThan(60);
    expect(new Set(seen.map(({ type }) => type))).toEqual(new Set(['cell_started']));
  });

  it('do what they are told', async () => {
    const ui = await startUi();
    const { bridge, done } = await startFakeBridge(ui.stateDir);
    const [seen] = OverviewSchema.parse((await ui.ask('GET', '/api/overview')).json).bridges;
    const at = `/api/bridges/${seen?.bridge}`;
    const ended = await ui.ask('POST', `${at}/sessions/work/end`);
    expect([ended.status, DoneSchema.parse(ended.json)]).toEqual([200, { ok: true }]);
    expect(await ui.ask('POST', `${at}/servers/files/stop`)).toMatchObject({ status: 200, json: { ok: true } });
    expect(done).toEqual(['end work', 'stop files']);
    expect(await ui.ask('POST', `${at}/sessions/work/hibernate`)).toMatchObject({ status: 409 });
    expect(await ui.ask('POST', `${at}/sessions/work/interrupt`)).toMatchObject({ status: 409 });
    expect(await ui.ask('POST', `${at}/sessions/none/end`)).toMatchObject({ status: 404 });
    expect(await ui.ask('POST', `${at}/sessions/work/end?principal=alice`)).toMatchObject({ status: 404 });
    expect(await ui.ask('POST', `${at}/sessions/work/delete`)).toMatchObject({ status: 404 });
    expect(await ui.ask('POST', `${at}/servers/..%2f..%2fsessions/stop`)).toMatchObject({ status: 404 });
    expect(await ui.ask('POST', `${at}/sessions/work/run`, { body: {} })).toMatchObject({ status: 400 });
    bridge.runWith(async (given) => {
      const request = bridge.open(given);
      watchedRun(bridge.watch).begin({ session: 'work', generation: 1, cell: 4 }, request);
      return bridge.noticed(request, { status: 'success', cell: 4, notices: [] } as unknown as CellAnswer);
    });
    expect(await ui.ask('POST', `${at}/sessions/work/run`, { body: { code: 'x' } })).toMatchObject({
      status: 200,
      json: { cell: 'a1b2c3d4-0001/work/1/4' },
    });
  });
});

describe('a question', () => {
  const FORM = {
    mode: 'form',
    message: 'May it?',
    requestedSchema: {
      type: 'object',
      properties: { answer: { type: 'string', enum: ['Allow once', 'Do not allow'] } },
    },
  } as const;

  async function ask(policy: object, callsFor?: (file: string) => QuestionedCall[]) {
    const stateDir = newStateDir();
    const file = join(stateDir, 'policy.json');
    writeFileSync(file, JSON.stringify(policy));
    const ui = await startUi({ stateDir });
    const { bridge, done } = await startFakeBridge(stateDir);
    const request = bridge.open({ code: '1', servers: [], timeoutMs: 5, session: 'work', person: SILENT });
    const reply: Promise<Reply> | undefined = request.person?.ask(
      { ...FORM, ...(callsFor && { calls: callsFor(file) }) },
      new AbortController().signal,
    );
    const [approval] = OverviewSchema.parse((await ui.ask('GET', '/api/overview')).json).approvals;
    const at = `/api/bridges/${approval?.bridge}/approvals/${approval?.id}`;
    return { ui, file, done, reply, approval, at };
  }

  it('is answered once', async () => {
    const { approval, at, done, reply, ui } = await ask({});
    expect(approval).toMatchObject({ message: 'May it?', session: 'work' });
    expect(approval).not.toHaveProperty('decided_by');
    expect(await ui.ask('POST', at, { body: { answer: 'nonsense' } })).toMatchObject({ status: 400 });
    expect(await ui.ask('POST', `${at}/always`)).toMatchObject({ status: 422 });
    expect(await ui.ask('POST', at, { body: { answer: 'once' } })).toMatchObject({ status: 200, json: { ok: true } });
    expect(await reply).toEqual({ action: 'accept', content: { answer: 'Allow once' } });
    expect(done).toEqual(['answered Allow once']);
    expect(await ui.ask('POST', at, { body: { answer: 'no' } })).toMatchObject({ status: 409 });
    expect(await ui.ask('POST', `${at}/always`)).toMatchObject({ status: 409 });
  });

  it('shows the rule that asks, and can be answered for always', async () => {
    const { approval, at, file, reply, ui } = await ask({ rules: [{ effect: 'ask', server: 'files' }] }, (place) => [
      { server: 'files', tool: 'write_file', reason: `rules[0] of ${place} asks for approval` },
    ]);
    const [documented = ''] = readFences('docs/ui.md', 'json');
    const rules = [{ rule: documented.trim(), place: `rules[0] of ${file}` }];
    expect(approval).toMatchObject({
      decided_by: [
        { server: 'files', tool: 'write_file', place: `rules[0] of ${file}`, decision: 'ask', outcome: 'decides' },
      ],
      can_always_allow: { policy_file: file, rules },
    });
    const { json, status } = await ui.ask('POST', `${at}/always`);
    expect([status, WrittenRulesSchema.parse(json)]).toEqual([200, { ok: true, policy_file: file, rules }]);
    expect(await reply).toMatchObject({ content: { answer: 'Allow once' } });
    expect(JSON.parse(readFileSync(file, 'utf8')).rules).toEqual([
      { effect: 'allow', server: 'files', tool: 'write_file' },
      { effect: 'ask', server: 'files' },
    ]);
  });

  it('of a scheduled run is there once, whether bridges run or not, and is answered once', async () => {
    const stateDir = newStateDir();
    const ui = await startUi({ stateDir });
    const queue = new QuestionQueue(stateDir);
    const about = { schedule: 'morning', run: '2026-11-30T06-00-00Z', key: 'call 1' };
    const calls = [{ server: 'files', tool: 'write_file', reason: 'it is not among the rights' }];
    const { id } = await queue.ask({ ...about, question: { ...FORM, calls } });
    const asked = async () => OverviewSchema.parse((await ui.ask('GET', '/api/overview')).json).approvals;
    const alone = await asked();
    const schedule = { name: 'morning', run: about.run };
    expect(alone).toMatchObject([{ id, bridge: 'schedules', schedule, message: 'May it?', calls }]);
    expect(Object.keys(alone[0] ?? {})).not.toContain('session');
    await startFakeBridge(stateDir);
    await startFakeBridge(stateDir, { principal: 'alice' });
    expect(await asked()).toEqual(alone);
    const at = `/api/bridges/schedules/approvals/${id}`;
    expect(await ui.ask('POST', at, { body: { answer: 'nonsense' } })).toMatchObject({ status: 400 });
    expect(await ui.ask('POST', at, { body: { answer: 'once' } })).toMatchObject({ status: 200, json: { ok: true } });
    expect(await ui.ask('POST', at, { body: { answer: 'no' } })).toMatchObject({ status: 409 });
    expect(await queue.answerTo(about)).toMatchObject({ reply: { content: { answer: 'Allow once' } }, by: 'page' });
    expect(await asked()).toEqual([]);
  });

  it('says why no rule can allow it', async () => {
    const { approval, at, file, reply, ui } = await ask({}, () => [
      {
        server: 'files',
        tool: 'write',
        reason: 'rules[0] of /servers.json (mcpServers.files.policy) asks for approval',
      },
    ]);
    expect(approval?.why_not_always).toContain('What asks is not in');
    expect(await ui.ask('POST', `${at}/always`)).toMatchObject({ status: 422 });
    expect(readFileSync(file, 'utf8')).toBe('{}');
    await ui.ask('POST', at, { body: { answer: 'no' } });
    expect(await reply).toMatchObject({ content: { answer: 'Do not allow' } });
  });
});
