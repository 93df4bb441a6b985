/** A client that runs cells in its own sessions and checks every answer. */
import { messageOf } from '../../src/core/base/errors.ts';
import { ACTIONS, pause, type Step } from './actions.ts';
import { createRandom, type Random } from './random.ts';
import type { Record } from './record.ts';
import { SessionModel } from './session-model.ts';
import type { Answer, World } from './world.ts';

/** All agents together use more than the bridge keeps, so that sessions are also evicted. */
const SESSIONS_PER_AGENT = 6;
/** The next call restarts a server that exited, but later if it exited several times; until then calls fail. */
const SERVER_AFTERMATH_MS = 15_000;
/** Time until the bridge notices that a sandbox is gone. */
const SANDBOX_AFTERMATH_MS = 2_000;
const MAX_PAUSE_MS = 200;
/** Errors of the bridge if the machine is too busy for the deadline of a cell. */
const OVERLOAD = /SESSION_START_TIMEOUT|ENGINE_UNAVAILABLE: \w+ does not answer/;
const FAVORITE_SHARE = 0.75;

export interface Agent {
  /** Acts until `isOver`. */
  act(isOver: () => boolean): Promise<void>;
  /** One plain cell in each of its sessions. */
  visitAll(): Promise<void>;
}

export function createAgent(index: number, seed: number, world: World, record: Record): Agent {
  const random = createRandom(seed * 1_000 + index);
  const names = Array.from({ length: SESSIONS_PER_AGENT }, (_, number) => `agent-${index}-${number}`);
  const sessions = names.map((name) => new SessionModel(name));
  return {
    async act(isOver) {
      while (!isOver()) {
        const kind = pickKind(random, world);
        const step = ACTIONS[kind]?.create(world, random);
        if (step !== undefined) {
          await take(kind, step, pickSession(random, sessions), { record, world });
        }
        await pause(random.below(MAX_PAUSE_MS));
      }
    },
    async visitAll() {
      for (const session of sessions) {
        await take(
          'last visit',
          { code: '1 + 1', judge: (answer) => (answer.result === '2' ? undefined : 'no 2') },
          session,
          {
            record,
            world,
          },
        );
      }
    },
  };
}

/** Usually one of two, so that sessions are also used while warm. */
function pickSession(random: Random, sessions: readonly SessionModel[]): SessionModel {
  return random.pick(random.next() < FAVORITE_SHARE ? sessions.slice(0, 2) : sessions);
}

function pickKind(random: Random, world: World): string {
  const lacksProcesses = world.engine.lacks.includes('child processes');
  const kinds = Object.entries(ACTIONS).filter(([kind]) => !(lacksProcesses && kind === 'processes left behind'));
  let place = random.next() * kinds.reduce((sum, [, { weight }]) => sum + weight, 0);
  for (const [kind, { weight }] of kinds) {
    place -= weight;
    if (place < 0) {
      return kind;
    }
  }
  return 'count';
}

interface Surroundings {
  readonly record: Record;
  readonly world: World;
}

async function take(kind: string, step: Step, session: SessionModel, around: Surroundings): Promise<void> {
  const { record, world } = around;
  const startMs = performance.now();
  const code = session.wrap(step.code);
  const { cancelAfterMs, keys = [], servers, timeout } = step;
  const controller = new AbortController();
  const options = { ...(servers && { servers }), ...(timeout && { timeout }), signal: controller.signal };
  const cells = Array.from({ length: step.isTwice === true ? 2 : 1 }, () => world.run(code, session.name, options));
  const timer = cancelAfterMs === undefined ? undefined : setTimeout(() => controller.abort(), cancelAfterMs);
  const meanwhile = step.meanwhile?.();
  const outcomes = await Promise.allSettled(cells);
  clearTimeout(timer);
  await meanwhile;
  const isDisturbed =
    world.wasDisturbed('sandbox', startMs - SANDBOX_AFTERMATH_MS) ||
    (keys.length > 0 && world.wasDisturbed('server', startMs - SERVER_AFTERMATH_MS));
  let isRight = true;
  let isOverloaded = false;
  for (const outcome of outcomes) {
    isOverloaded ||= outcome.status === 'fulfilled' && OVERLOAD.test(outcome.value.error);
    const fault =
      outcome.status === 'fulfilled'
        ? judge(step, session, outcome.value, record)
        : judgeRejection(step, session, outcome.reason);
    isRight &&= fault === undefined;
    if (fault !== undefined && !isDisturbed && !isOverloaded) {
      record.violate(`${kind} in ${session.name}: ${fault}`);
    }
  }
  if (isRight && step.settles !== undefined) {
    world.ledger.settle(keys, step.settles);
  }
  record.add(kind, performance.now() - startMs, isRight ? undefined : isOverloaded ? 'overloaded' : 'disturbed');
}

function judge(step: Step, session: SessionModel, answer: Answer, record: Record): string | undefined {
  // The state must be right, whatever was done from outside.
  session.judge(answer).forEach((fault) => record.violate(fault));
  const fault = step.judge(answer);
  if (step.resets === true && answer.status === 'success') {
    session.noteReset();
  }
  const said = JSON.stringify({ status: answer.status, result: answer.result, error: answer.error.slice(-300) });
  return fault === undefined ? undefined : `${fault}: ${said}`;
}

function judgeRejection(step: Step, session: SessionModel, reason: unknown): string | undefined {
  session.noteUnanswered();
  return step.cancelAfterMs === undefined ? `no answer: ${messageOf(reason)}` : undefined;
}
