/**
 * Every table that lives longer than a function has a bound: it is a `CappedMap`, or it stands below with the reason why it cannot grow
 * without end. A new `Map` or `Set` in a field or at the top of a module fails here until one of both is true. Tables that a function
 * keeps for its closures look like its local ones, and are not seen here.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { withoutTier } from '../../scripts/generate/layers.ts';
import { PACKAGE_ROOT } from '../../src/core/base/package.ts';

const ROOT = fileURLToPath(new URL('src', PACKAGE_ROOT));
/** Code of browsers and of sandboxes, whose memory is theirs. */
const ELSEWHERE = ['ui/page/', 'engines/embedded/child/', 'engines/embedded/javascript/guest/'];
/** A field, or a constant of a module, that is made empty. */
const TABLE =
  /^(?: {2}(?:readonly |private |static )*|(?:export )?(?:const|let) )(#?\w+)(?: ?:.*)? = new (?:Map|Set)\b.*\(\);/gm;

/** Reasons, each with what it holds for. */
const BOUNDED: Readonly<Record<string, string>> = {
  'of one run: the tools that it calls, and at most 20 questions in each attempt': `
    schedule/unattended.ts #counts`,
  'an entry is removed when work ends that is limited itself: calls, requests, cells, connections, builds, questions': `
    approvals/cell-approvals.ts #collected
    artifacts/artifacts.ts #transfers #writes
    audit/trail.ts #ranByOperator
    audit/writer.ts #bytesOf #waiting #open
    base/connections.ts #known #owned #strangers
    base/run-process.ts endings
    calls/events.ts #cells
    calls/steps.ts #sandboxes
    directory/background-work.ts #busy #again
    egress-proxy/front.ts #connections
    engines/kubernetes/pods.ts #waiting
    engines/sandbox.ts #running
    live/event-streams.ts #readers
    live/hub.ts #bridges
    live/questions.ts #open
    live/running-cell.ts #running #runningSteps
    live/watched-bridge.ts #running
    packages/build-turns.ts #lines #running
    packages/packages.ts #progress
    packages/shared-progress.ts #listeners
    policy/rules/counters.ts #waiting
    recordings/kept-steps.ts #running
    server/answer-room.ts #exchanges
    server/http/endpoint.ts #open
    server/http/http-front.ts #leaving
    server/http/mcp-sessions.ts #byId
    server/suspended-calls.ts #byToken
    session/cell-progress.ts #calls #unsent
    session/dispatch.ts #running
    session/egress-streams.ts #ready #streams
    session/session-room.ts #tenancies
    session/session.ts #sandboxes
    session/standby.ts #entries #sandboxes
    telemetry/cells.ts #last
    ui/bridges.ts #readers #streams
    ui/event-stream.ts #open
    upstream/api/api-transport.ts #running
    upstream/command/command-connection.ts #running
    upstream/elicitation-protocol.ts #open
    upstream/guardian.ts #groups
    upstream/http/arriving.ts #bytes
    upstream/http/streamable-transport.ts #running
    upstream/http/tunnel-agent.ts #opening
    upstream/message-intake.ts #pending
    upstream/pool.ts #retiring
    upstream/requests.ts #waiting`,
  'a number or a size beyond which it refuses, or forgets': `
    audit/repeated-refusals.ts #cells
    audit/writer.ts #unrecorded
    catalog/search-words.ts #runs #stems
    history/history.ts #texts
    login-pages/login-pages.ts #links #linksOf #attempts
    pins/pinned-tools.ts #logged
    policy/rules/paths.ts folders
    server/tasks.ts #byId
    session/dispatch.ts #refused
    session/jobs.ts #calls
    session/sessions.ts #sessions
    upstream/page-cursors.ts #seen`,
  'keys are what the operator configured, principals that exist, or words of this program': `
    audit/trail.ts #defined
    catalog/search-rank.ts #vocabulary #starts
    directory/background-work.ts #restUntil
    directory/server-directory.ts #hashes #changed #errors #usedAt
    engines/container/container-engine.ts #preparationOf #omittedFlags
    live/watched-bridge.ts #serverStates
    pins/pinned-tools.ts #accepted #turns
    policy/rules/policies.ts #entrySets #denials
    prestart/used-servers.ts #asking
    recordings/recording.ts #written
    server/http/http-front.ts #residents #uses #loggedAt
    session/session.ts #loaded
    state/line-cache.ts #written
    upstream/pool.ts #legacyServers #definitions #servers`,
  'lives as long as one list of tools, message, cell or question, whose size is limited': `
    approvals/cell-approvals.ts #grants #refused
    approvals/call-line.ts #candidates
    bridge/replayed-servers.ts NO_DEFINITIONS
    catalog/intake.ts #clauses
    catalog/observed-shape.ts #types #keys
    catalog/python-types.ts #references
    catalog/search-vocabulary.ts #entries
    protocol/json-scan.ts #members #result #firstBlock
    registries/inputs.ts #inputs
    upstream/api/next-page.ts #arguments
    upstream/http/streamable-transport.ts #parameters
    upstream/tool-list.ts tools notices fingerprints`,
  'lives in the thread that compiles one description of a limited size, with limited memory': `
    upstream/api/graphql/compile.ts operations tools
    upstream/api/graphql/json-schema.ts #definitions
    upstream/api/graphql/selection.ts #forms
    upstream/api/openapi/api-document.ts #referred
    upstream/api/openapi/body-plan.ts #seen members required
    upstream/api/openapi/notices.ts #names
    upstream/api/openapi/schema-writer.ts #definitions #names
    upstream/api/openapi/tool-names.ts #taken`,
  'reads files of a limited size: the log, a recording, an index of packages': `
    history/call-sums.ts #counts #open
    history/history.ts #files #cells #groups #made #interned #unreadable
    history/log-totals.ts #bridges #cells
    history/reader.ts #files #unreadable
    history/savings.ts #bridges
    history/statistics.ts #tools
    packages/pure/resolve.ts #projects #requires
    packages/pure/simple-index.ts #reached #linked
    recordings/replay.ts #same
    recordings/resume.ts #left
    report/collect.ts #values #days #principals
    ui/log.ts all`,
  'belongs to a command of a person': `
    configured/server-test.ts #times
    manage-servers/edited-files.ts #files`,
};

it('every table that lives longer than a function has a bound', () => {
  const found = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts') && !ELSEWHERE.some((folder) => withoutTier(file).startsWith(folder)))
    .flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(TABLE)].map(([, name]) => `${withoutTier(file)} ${name}`),
    );
  const bounded = Object.values(BOUNDED).flatMap((text) =>
    text
      .trim()
      .split('\n')
      .flatMap((line) => {
        const [file, ...names] = line.trim().split(' ');
        return names.map((name) => `${file} ${name}`);
      }),
  );
  expect(found.length).toBeGreaterThan(100);
  expect(found.toSorted(), 'Use CappedMap, or add the table with its reason.').toEqual(bounded.toSorted());
});
