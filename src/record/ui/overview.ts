/** What all bridges do now, and which rules ask what waits for a person. */
import { BridgeError } from '../../core/base/errors.ts';
import { VERSION } from '../../core/base/version.ts';
import type { WaitingQuestions } from '../../core/base/waiting-question.ts';
import { answerWaiting, ofSchedule } from '../local-api/approval.ts';
import type { SeenBridge } from '../local-api/client.ts';
import type { LiveApproval } from '../local-api/schema.ts';
import type { Bridges } from './bridges.ts';
import type { PolicyEditor, UiContext } from './parts.ts';
import { UiRefusal } from './refusal.ts';
import { SCHEDULES, type UiApproval, type UiOverview, type UiWrittenRules } from './schema.ts';

interface OverviewParts {
  readonly bridges: Bridges;
  readonly policy: PolicyEditor;
  readonly context: UiContext;
  readonly waiting: WaitingQuestions;
}

export async function overviewOf({ bridges, context, policy, waiting }: OverviewParts): Promise<UiOverview> {
  const { settings } = context;
  // Of before they were asked, so that whatever has a later time may be missing here, and nothing else.
  const now = new Date().toISOString();
  const [seen, ofSchedules] = await Promise.all([bridges.describeAll(), waiting.open()]);
  // Every bridge lists those of schedules, and maybe none runs.
  const ofBridges = ({ approvals }: SeenBridge) => approvals.filter(({ schedule }) => schedule === undefined);
  const withBridge = <Item>(itemsOf: (one: SeenBridge) => readonly Item[]) =>
    seen.flatMap((one) => itemsOf(one).map((item) => ({ ...item, bridge: one.id })));
  return {
    version: VERSION,
    state_dir: settings.stateDir,
    folder: process.cwd(),
    now,
    features: { audit: settings.audit !== 'off', recordings: settings.record !== undefined },
    bridges: seen.map(({ id, info }) => ({ ...info, bridge: id })),
    sessions: withBridge(({ sessions }) => sessions),
    approvals: [
      ...(await Promise.all(withBridge(ofBridges).map((one) => withRules(one, policy)))),
      ...ofSchedules.map((one) => ({ ...ofSchedule(one), bridge: SCHEDULES })),
    ],
    servers: withBridge(({ servers }) => servers),
  };
}

async function withRules(
  approval: LiveApproval & { readonly bridge: string },
  policy: PolicyEditor,
): Promise<UiApproval> {
  const { calls } = approval;
  if (calls === undefined) {
    return approval;
  }
  const tools = [...new Map(calls.map((call) => [JSON.stringify([call.server, call.tool]), call])).values()];
  const traced = await Promise.all(
    tools.map(async ({ server, tool }) =>
      (await policy.explain(server, tool)).map((one) => ({ ...one, server, tool })),
    ),
  );
  const plan = await policy.plan(calls);
  return {
    ...approval,
    decided_by: traced
      .flat()
      .flatMap(({ effect, outcome, place, server, tool, why }) =>
        outcome === 'decides' || outcome === 'may decide'
          ? [{ server, tool, place, decision: effect, outcome, ...(why !== null && { why }) }]
          : [],
      ),
    ...('why' in plan
      ? { why_not_always: plan.why }
      : { can_always_allow: { policy_file: plan.file, rules: [...plan.rules] } }),
  };
}

/** Adds rules that allow the calls of a question, then answers it. Throws a refusal if it no longer waits, or no rule can allow them. */
export async function allowAlways(
  { approval: id, bridge }: { readonly approval: string; readonly bridge: string },
  bridges: Bridges,
  policy: PolicyEditor,
): Promise<UiWrittenRules> {
  const client = await bridges.get(bridge);
  const open = (await client.get('/v1/approvals')) as readonly LiveApproval[];
  const question = open.find((one) => one.id === id);
  if (question === undefined) {
    throw answeredBefore();
  }
  if (question.calls === undefined) {
    throw new UiRefusal(422, 'No rule can allow this: it is no question about calls.');
  }
  const { file, rules } = await policy.allow(question.calls, question.asked);
  try {
    await answerQuestion({ approval: id, bridge }, { answer: 'once' }, bridges);
  } catch (error) {
    if (error instanceof UiRefusal) {
      const written = rules.map(({ rule }) => rule).join(', ');
      throw new UiRefusal(
        409,
        'The rule was written, but the question no longer waits: it was answered elsewhere, withdrawn, or not in time.',
        `If the rule is not wanted, remove it from ${file}: ${written}`,
      );
    }
    throw error;
  }
  return { ok: true, policy_file: file, rules: [...rules] };
}

/** Throws a refusal if it no longer waits. */
export async function answerQuestion(
  { approval: id, bridge }: { readonly approval: string; readonly bridge: string },
  body: unknown,
  bridges: Bridges,
): Promise<void> {
  const client = await bridges.get(bridge);
  try {
    await client.post(`/v1/approvals/${encodeURIComponent(id)}`, body);
  } catch (error) {
    throw error instanceof BridgeError && error.data['status'] === 404 ? answeredBefore() : error;
  }
}

/** Throws a refusal if it no longer waits, or the body is no answer. */
export async function answerSchedule(id: string, body: unknown, waiting: WaitingQuestions): Promise<void> {
  const reply = await answerWaiting(waiting, id, body);
  if (reply === undefined) {
    throw answeredBefore();
  }
  if (typeof reply === 'string') {
    throw new UiRefusal(400, reply);
  }
}

function answeredBefore(): UiRefusal {
  return new UiRefusal(
    409,
    'This question no longer waits.',
    'It was answered in the client, withdrawn, or not in time.',
  );
}
