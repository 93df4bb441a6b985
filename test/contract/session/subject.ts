/** What the parts of the session suite share: a harness, a server with fake tools, and the properties of the engine. */

import type { CallContext, HandleCall } from '../../../src/core/session/dispatch.ts';
import type { Engine } from '../../../src/core/session/engine.ts';
import type { ItNeeds } from '../../support/capabilities.ts';
import { pause } from '../../support/pause.ts';
import { echoCalls, type Harness } from '../../support/session-harness.ts';

export interface Subject {
  readonly run: Harness['run'];
  readonly harness: () => Harness;
  readonly engine: () => Engine;
  readonly tools: FakeTools;
  /** Whether a supervisor reports how the sandbox ended. */
  readonly isSupervised: boolean;
  /** `it`, or a skipped test that names what the engine lacks. */
  readonly itNeeds: ItNeeds;
}

export type FakeTools = ReturnType<typeof createFakeTools>;

/** The reply of the person, as text. */
async function askPerson({ asker, signal }: CallContext): Promise<unknown> {
  const reply = await asker?.ask({ mode: 'form', message: 'Well?', requestedSchema: {} }, signal);
  return { content: [{ type: 'text', text: reply?.action ?? 'nobody' }] };
}

/** Tools of the server `fake`. */
export function createFakeTools() {
  const aborted: string[] = [];
  const calls: string[] = [];
  const lines: unknown[] = [];
  const handleCall: HandleCall = (call, context) => {
    const tool = String(call.params['tool']);
    const given = call.params['arguments'] as Record<string, unknown> | undefined;
    calls.push(tool);
    if (call.method === 'call_tool') {
      lines.push(call.params['line']);
    }
    switch (tool) {
      case 'hang':
        return new Promise((_, reject) => {
          context.signal.addEventListener('abort', () => {
            aborted.push(String(given?.['name']));
            reject(new Error('aborted'));
          });
        });
      case 'wait':
        return pause(Number(given?.['ms']), 'the requested duration of the tool').then(() => ({
          content: [{ type: 'text', text: 'waited' }],
        }));
      case 'ask':
        return askPerson(context);
      case 'fail':
        return Promise.resolve({ content: [{ type: 'text', text: 'disk full' }], isError: true });
      case 'large':
        return Promise.resolve({ content: [{ type: 'text', text: '𝒳é'.repeat(Number(given?.['count'])) }] });
      default:
        return echoCalls(call, context);
    }
  };
  return { aborted, calls, lines, handleCall };
}
