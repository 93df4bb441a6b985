/** The tool `sessions`: lists the live sessions of this bridge, and resets one. Creates none. */
import { reportError, toBridgeError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/units.ts';
import type { RenderedAnswer } from '../../core/render/render.ts';
import type { LazyBridge } from '../../core/session/lazy-bridge.ts';
import type { SessionFacts } from '../../core/session/session.ts';
import { checkSession, shownArgument } from '../server/arguments.ts';
import type { FrontTool } from '../server/front-tool.ts';
import { checkedArgument, readArguments, readText, refuse } from './arguments.ts';

const ACTIONS = ['list', 'reset'] as const;

export function createSessionsTool({ bridge }: { readonly bridge: LazyBridge }): FrontTool {
  return {
    definition: {
      name: 'sessions',
      description: 'List the live sessions, or reset one: its state is lost, and code that runs in it ends.',
      inputSchema: {
        type: 'object',
        properties: {
          action: { type: 'string', enum: [...ACTIONS], default: 'list' },
          session: { type: 'string', description: 'to reset' },
        },
        additionalProperties: false,
      },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    purpose: 'sessions lists and resets the sessions of this bridge.',
    async call(given) {
      const named = await readArguments(given, ['action', 'session']);
      const action = readText(named, 'action') ?? 'list';
      const { session } = named;
      if (!ACTIONS.some((known) => known === action)) {
        throw refuse(`\`action\` is ${shownArgument(action)}; it must be list or reset.`, 'Leave it out to list.');
      }
      if (action === 'list') {
        if (session !== undefined) {
          throw refuse('`session` is only for `action` reset.', 'Send `action`: "reset", or leave `session` out.');
        }
        return { kind: 'own', answer: () => orFailure(() => list(bridge)) };
      }
      if (session === undefined) {
        throw refuse('`session` is missing; it is the name of the session to reset.', 'List the sessions first.');
      }
      const name = checkedArgument(() => checkSession(session));
      return { kind: 'own', answer: () => orFailure(() => reset(bridge, name)) };
    },
  };
}

async function list(bridge: LazyBridge): Promise<RenderedAnswer> {
  const live = await liveSessions(bridge);
  const sessions = live.map(({ name, engine, isBusy, cells, servers, ageMs, idleMs }) => ({
    name,
    engine: engine ?? null,
    busy: isBusy,
    cells,
    servers,
    age_s: toSeconds(ageMs),
    idle_s: toSeconds(idleMs),
  }));
  const text = live.length === 0 ? 'No session is live.' : live.map(describe).join('\n');
  return answerOf(text, { sessions });
}

async function reset(bridge: LazyBridge, name: string): Promise<RenderedAnswer> {
  const isReset = (await (await bridge.made())?.resetSession(name)) ?? false;
  if (isReset) {
    return answerOf(`The session '${name}' was reset. Its next cell begins without state.`, {
      session: name,
      status: 'reset',
    });
  }
  const names = (await liveSessions(bridge)).map((session) => `'${session.name}'`).join(', ');
  const text = `There is no session '${name}'. ${names === '' ? 'No session is live.' : `Live: ${names}.`}`;
  return answerOf(text, { session: name, status: 'unknown' }, true);
}

/** Does not make a bridge: one that was not used has no session. */
async function liveSessions(bridge: LazyBridge): Promise<readonly SessionFacts[]> {
  return (await (await bridge.made())?.listSessions()) ?? [];
}

/** `default: podman, 12 s old, idle for 3 s, 4 cells, servers github, memory` */
function describe({ name, engine, isBusy, cells, servers, ageMs, idleMs }: SessionFacts): string {
  const parts = [
    engine ?? 'starting',
    ...(ageMs === undefined ? [] : [`${toSeconds(ageMs)} s old`]),
    ...(isBusy ? ['busy'] : []),
    ...(idleMs === undefined ? [] : [`idle for ${toSeconds(idleMs)} s`]),
    counted(cells, 'cell'),
    servers.length === 0 ? 'no servers' : `servers ${servers.join(', ')}`,
  ];
  return `${name}: ${parts.join(', ')}`;
}

function toSeconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms / 1000);
}

function answerOf(text: string, structuredContent: Record<string, unknown>, isError = false): RenderedAnswer {
  return { content: [{ type: 'text', text }], structuredContent, isError };
}

async function orFailure(answer: () => Promise<RenderedAnswer>): Promise<RenderedAnswer> {
  try {
    return await answer();
  } catch (thrown) {
    const { code, message } = reportError(toBridgeError(thrown));
    return answerOf(`${code}: ${message}`, { status: 'error', message }, true);
  }
}
