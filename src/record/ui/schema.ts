/**
 * What the server of `ui` answers, for its page and for other programs. docs/reference/ui-api.md is generated from these schemas, and
 * tests validate answers with them. Times are ISO 8601 in UTC. What a bridge says is passed on as in `local-api/schema.ts`, with the
 * bridge that said it.
 */
import { z } from 'zod';
import { CELL_STATUSES } from '../../core/base/cell.ts';
import { EFFECTS } from '../../core/calls/contract.ts';
import {
  ApprovalSchema,
  BridgeInfoSchema,
  EventSchema,
  ServerSchema,
  SessionSchema,
  StepSchema,
} from '../local-api/schema.ts';

const count = z.int().nonnegative();
const at = z.iso.datetime();
const text = z.string();
const ms = z.number().nonnegative();
const tokens = count;

const bridge = text.describe('Id of the bridge.');
const ofBridge = { bridge };
const cellId = text.describe('Id of the cell, as in the audit log.');
const callId = text.describe('Id of the call, as in the audit log.');
const server = text.describe('Name of the server.');
const tool = text.describe('Name of the tool, or an MCP method such as `resources/read`.');
const principal = text.optional().describe('Name of the token over HTTP; left out for the user of the machine.');
const profile = text.optional().describe('Profile of `policy.json` that the client has chosen.');
const errorCode = text.optional().describe('Code of the error, if it failed and has one; `help CODE` explains it.');
const rule = text.optional().describe('The rule that decided, and where it is.');

export const FailureSchema = z.strictObject({
  error: z
    .strictObject({
      code: text.optional().describe('Code of the error; `help CODE` explains it.'),
      message: text.describe('What failed.'),
      hint: text.optional().describe('One next step, if there is one.'),
    })
    .describe('Why it was refused or failed.'),
});

const RuleSchema = z.strictObject({
  rule: text.describe('The rule, as it is in the file, on one line of JSON.'),
  place: text.describe('Where it is or would be, such as `rules[1] of FILE`.'),
});

/** What questions of scheduled runs have instead of a bridge. */
export const SCHEDULES = 'schedules';

const UiApprovalSchema = ApprovalSchema.extend({
  bridge: text.describe(`Id of the bridge, or \`${SCHEDULES}\` for a scheduled run.`),
  decided_by: z
    .array(
      z.strictObject({
        server,
        tool,
        place: text.describe('Such as `rules[1] of FILE`.'),
        decision: z.enum(EFFECTS).describe('What the rule says.'),
        outcome: z.enum(['decides', 'may decide']).describe('`may decide`: it depends on the arguments.'),
        why: text.optional().describe('What it depends on.'),
      }),
    )
    .optional()
    .describe('The rules that apply to the calls, in their order; left out if the question is about something else.'),
  can_always_allow: z
    .strictObject({
      policy_file: text.describe('The file that gets the rules.'),
      rules: z.array(RuleSchema).describe('What is added, one rule for each tool.'),
    })
    .optional()
    .describe('What `…/always` would write; left out if no rule in `policy.json` can allow the calls.'),
  why_not_always: text.optional().describe('Why no rule can allow the calls, in one sentence.'),
});

export const OverviewSchema = z.strictObject({
  version: text.describe('Version of this program; bridges may have another.'),
  state_dir: text.describe('State directory, whose bridges are shown.'),
  folder: text.describe('Folder in which `ui` was started. Its servers are those of `/api/servers`.'),
  now: at.describe('Time at which the bridges were asked.'),
  features: z
    .strictObject({
      audit: z.boolean().describe('Whether bridges with these settings write the audit log.'),
      recordings: z
        .boolean()
        .describe('Whether `MCP_BRIDGE_RECORD` names a folder, so that output and results are kept.'),
    })
    .describe('What the settings of `ui` turn on.'),
  bridges: z.array(BridgeInfoSchema.extend(ofBridge)).describe('Running bridges.'),
  sessions: z.array(SessionSchema.extend(ofBridge)).describe('Their sessions.'),
  approvals: z.array(UiApprovalSchema).describe('Questions that wait for a person.'),
  servers: z.array(ServerSchema.extend(ofBridge)).describe('Their servers.'),
});
export type UiOverview = z.infer<typeof OverviewSchema>;
export type UiBridge = UiOverview['bridges'][number];
export type UiSession = UiOverview['sessions'][number];
export type UiApproval = UiOverview['approvals'][number];
export type UiServerState = UiOverview['servers'][number];

const comesAndGoes = { at: at.describe('When it was noticed.'), bridge };

/** One `data:` of `/api/events`: an event of a bridge, or that a bridge came or went. */
export const UiEventSchema = z.union([
  ...EventSchema.options.map((option) => option.extend(ofBridge)),
  z
    .strictObject({ type: z.literal('bridge_started'), ...comesAndGoes })
    .describe('A bridge can be watched. Read the overview again.'),
  z
    .strictObject({ type: z.literal('bridge_ended'), ...comesAndGoes })
    .describe('A bridge is gone, with its sessions and questions.'),
] as const);
type EventOfBridge<Each> = Each extends unknown ? Each & { bridge: string } : never;
export type UiEvent =
  | EventOfBridge<z.infer<typeof EventSchema>>
  | { type: 'bridge_started' | 'bridge_ended'; at: string; bridge: string };

const StateSchema = z.strictObject({
  bridge,
  principal,
  profile,
  state: ServerSchema.shape.state,
  pid: ServerSchema.shape.pid,
  error: ServerSchema.shape.error,
});

export const ConfiguredServerSchema = z.strictObject({
  name: server,
  file: text.optional().describe('File with its entry; left out for one that only bridges in other folders have.'),
  disabled_reason: text.optional().describe('Why it is not used, if it is disabled.'),
  transport: z.enum(['stdio', 'http', 'sse', 'unknown']).describe('How it is reached.'),
  state: z
    .enum(['ready', 'never-started', 'failed', 'login-needed', 'disabled', 'unknown'])
    .describe('How its last start ended; what bridges see now is in `states`.'),
  error: text.optional().describe('Why its last start failed. Secrets of its entry are masked.'),
  hint: text.optional().describe('One next step after a failure.'),
  can_log_in: z.boolean().describe('Whether it is remote and takes a login.'),
  logged_in: z.boolean().optional().describe('Whether a login is stored, if it is remote and that is known.'),
  tools: count.optional().describe('Number of its tools, if they are known.'),
  definition_tokens: tokens.optional().describe('What its definitions would cost a client in each conversation.'),
  definition_bytes: count.optional().describe('Size of its names, descriptions and input schemas as JSON.'),
  calls: count.describe('Calls in the audit log, without dry runs.'),
  failed: count.describe('Those of them that failed, without the refused ones.'),
  refused: count.describe('Those of them that a rule, a person or a limit refused.'),
  p50_ms: ms.optional().describe('Half of them took less, accurate to 5 %.'),
  p95_ms: ms.optional().describe('95 % of them took less, accurate to 5 %.'),
  states: z.array(StateSchema).describe('What each bridge says of it.'),
  pins: z
    .strictObject({
      mode: z
        .enum(['off', 'warn', 'strict'])
        .describe('What happens to a changed tool; `strict`: its calls are refused.'),
      accepted: count.describe('Tools that are as they were accepted.'),
      changed: z
        .array(
          z.strictObject({
            tool: text.describe('Name of the tool.'),
            change: z.enum(['added', 'changed']).describe('What happened to it.'),
            is_refused: z.boolean().describe('Whether its calls are refused until it is accepted.'),
            differences: z
              .array(
                z.strictObject({
                  path: text.describe('Part of the definition, such as `description`.'),
                  before: text.optional().describe('As accepted; left out if there was none or it was not kept.'),
                  after: text.optional().describe('As the server says now.'),
                }),
              )
              .describe('The parts that differ. JSON has sorted keys and is on several lines.'),
          }),
        )
        .describe('Tools that differ from what was accepted.'),
      seen: text.describe('Stands for what `changed` shows; accepting needs it, so that nothing unseen is accepted.'),
      problem: text.optional().describe('Why the accepted tools cannot be read.'),
    })
    .describe('Accepted tool definitions.'),
});
export type UiServer = z.infer<typeof ConfiguredServerSchema>;

const HistoryCellSchema = z.strictObject({
  kind: z.literal('cell'),
  id: cellId,
  at: at.describe('When it began; when it ended if its beginning is no longer in the log.'),
  session: text.describe('Name of the session.'),
  principal,
  client: text.optional().describe('What the client called itself; left out for commands and earlier versions.'),
  run_by: z.enum(['operator']).optional().describe('`operator`: it was run from this page or over the local API.'),
  status: z.enum([...CELL_STATUSES, 'running']).describe('`running` also if its bridge was killed meanwhile.'),
  duration_ms: ms.optional().describe('How long it took.'),
  calls: count.describe('Number of its calls.'),
  code: text.describe('The code, at most 4,096 characters; `/api/cells` has all of it.'),
  error_code: errorCode,
  exception: text.optional().describe('Class of the exception, according to the sandbox.'),
});

const HistoryCallSchema = z.strictObject({
  kind: z.literal('call'),
  id: callId,
  cell: cellId,
  at: at.describe('When it began.'),
  principal,
  server,
  tool,
  status: z
    .enum(['ok', 'error', 'refused', 'dry_run', 'started'])
    .describe('How it ended; `started` if its end is not recorded.'),
  duration_ms: ms.describe('How long it took, without the wait for approval.'),
  error_code: errorCode,
  rule,
});

const HistoryEventSchema = z.strictObject({
  kind: z.literal('event'),
  type: text.describe('Type of the audit record.'),
  at: at.describe('Time of the event.'),
  principal,
  status: text.describe('`refused`, `lost`, a status of a program, or empty.'),
  summary: text.describe('What happened, on one line.'),
  record: z.record(text, z.unknown()).describe('The record as in the audit log.'),
});

const ItemSchema = z.discriminatedUnion('kind', [HistoryCellSchema, HistoryCallSchema, HistoryEventSchema]);
export const HistorySchema = z.strictObject({
  items: z.array(ItemSchema).describe('Newest first.'),
  next: text.optional().describe('`cursor` of the next page; left out on the last one.'),
  total: count.describe('Cells, calls and events in the log, whatever was asked for.'),
  bad_lines: count.describe('Lines of the log that are no records.'),
  unreadable: z.array(text).describe('Files of the log that cannot be read, with the reason.'),
  took_ms: ms.describe('Time that the answer took.'),
});
export type UiHistory = z.infer<typeof HistorySchema>;
export type UiHistoryItem = UiHistory['items'][number];

const CellCallSchema = z.strictObject({
  id: callId,
  server,
  tool,
  at: at.describe('When it began.'),
  duration_ms: ms.describe('How long it took, without the wait for approval.'),
  status: HistoryCallSchema.shape.status,
  error_code: errorCode,
  job: text.optional().describe('Name of the background job that made it.'),
  arguments: z.record(text, text).describe('Type and size of each argument.'),
  decision: z.enum(['allowed', 'denied', 'asked']).describe('What was decided before a person was asked.'),
  rule,
  answer: text.optional().describe('Result of asking: `allowed`, `denied`, `timeout`, `unavailable` or `cancelled`.'),
  approval: text.optional().describe('What the person allowed: `once`, `cell` or `session`.'),
  kept: z
    .strictObject({
      arguments: z.record(text, z.unknown()).optional().describe('Its arguments. Known secrets are masked.'),
      result: z.unknown().optional().describe('The answer of the server, as `CallToolResult`.'),
      error: text.optional().describe('What failed.'),
      left_out_bytes: count.optional().describe('Size of a result that was too large to keep.'),
    })
    .optional()
    .describe('From a recording.'),
});

export const CellSchema = z.strictObject({
  id: cellId,
  at: at.describe('When it began; when it ended if its beginning is no longer in the log.'),
  session: text.describe('Name of the session.'),
  principal,
  client: text.optional().describe('What the client called itself; left out for commands and earlier versions.'),
  run_by: HistoryCellSchema.shape.run_by,
  status: HistoryCellSchema.shape.status,
  duration_ms: ms.optional().describe('How long it took.'),
  code: text.describe('The code, with known secrets replaced by `***`.'),
  servers: z.array(text).describe('Servers that it could call.'),
  error_code: errorCode,
  exception: text.optional().describe('Class of the exception, according to the sandbox.'),
  calls: z.array(CellCallSchema).describe('Its calls, in the order in which they ended.'),
  calls_left_out: count.describe('Calls beyond 10,000.'),
  steps: z
    .array(StepSchema)
    .optional()
    .describe('Its steps of `runtime.step`, in the order in which they began; left out if there are none.'),
  output: z
    .strictObject({
      stdout: text.describe('What it printed, cut in the middle if that was much.'),
      value: text.optional().describe('The last expression.'),
      error: text.optional().describe('The error, without the traceback.'),
    })
    .optional()
    .describe('From a recording.'),
  output_bytes: count.optional().describe('Bytes that it printed and returned, kept or not.'),
  attachments: z
    .array(
      z.strictObject({
        name: text.describe('Name of the file.'),
        mime_type: text.describe('Guessed from the name.'),
        size: count.describe('Bytes.'),
        url: text.optional().describe('Path of its content in this API.'),
      }),
    )
    .describe(
      'Artifacts that it saved and that are stored as it left them. None if an earlier version ran it, which did not record them.',
    ),
  kept: z
    .strictObject({
      output: z.boolean().describe('Whether output (without stderr), arguments and results are kept.'),
      why: text.optional().describe('What is not kept and why, in one sentence.'),
    })
    .describe('Whether a recording has the cell.'),
  can_run_in: z
    .array(z.strictObject({ bridge, session: text.describe('Name of the session.'), principal, profile }))
    .describe(
      'Where it can be run again: sessions of running bridges, also hibernated ones, that of the same name first.',
    ),
  functions: z.array(text).describe('Names of the functions that it defines at top level, and that can be saved.'),
});
export type UiCell = z.infer<typeof CellSchema>;
export type UiStep = z.infer<typeof StepSchema>;

const CostsSchema = z.strictObject({
  definitions: tokens.describe('Definitions of tools.'),
  written: tokens.describe('What a model writes: code, or arguments.'),
  read: tokens.describe('What it reads: answers, or results.'),
});
const saving = {
  calls: count.describe('Calls that count.'),
  bridge_tokens: tokens.describe('Tokens with the bridge.'),
  direct_tokens: tokens.describe('Tokens if the client had called the servers directly.'),
  saved_tokens: z.int().describe('The difference.'),
};
export const SavingsSchema = z.strictObject({
  asked_since: at.describe('The time that was asked for, rounded down to the hour.'),
  since: at.nullable().describe('Time of the first record that counts; null if none does.'),
  ...saving,
  bridge: CostsSchema.describe('The parts of `bridge_tokens`.'),
  direct: CostsSchema.describe('The parts of `direct_tokens`.'),
  calls_not_counted: count.describe('Calls from before sizes were recorded, or of the shell.'),
  results_not_counted: count.describe('Calls whose result counts as nothing, because the size of its text is unknown.'),
  days: z.array(z.strictObject({ day: text.describe('In UTC, `2026-11-21`.'), ...saving })).describe('In order.'),
  servers: z
    .array(
      z.strictObject({
        server: text.nullable().describe('Name of the server; null for what belongs to none.'),
        ...saving,
      }),
    )
    .describe('Most tokens first.'),
  method: z.array(text).describe('How it is counted, one sentence each.'),
  bad_lines: count.describe('Lines of the log that are no records.'),
});
export type UiSavings = z.infer<typeof SavingsSchema>;

const StoredItemSchema = z.strictObject({
  id: text.describe('What `DELETE` takes.'),
  name: text.describe('Name for people.'),
  bytes: count.describe('Size.'),
  at: at.optional().describe('When it was stored or used last.'),
  detail: text.optional().describe('More about it, on one line.'),
  mime_type: text.optional().describe('Of an artifact, guessed from its name.'),
  removable: z.boolean().describe('Whether it can be removed now.'),
  why_not: text.optional().describe('Why it cannot be removed.'),
});
/** Kinds of stored things, as they are in paths. */
export const STORED_KINDS = ['packages', 'functions', 'checkpoints', 'artifacts'] as const;
export type UiStoredKind = (typeof STORED_KINDS)[number];
export const StoredSchema = z.strictObject({
  items: z.array(StoredItemSchema).describe('The newest first.'),
  problem: text.optional().describe('Why they cannot be listed, such as an engine that does not run.'),
});
export type UiStored = z.infer<typeof StoredSchema>;
export type UiStoredItem = z.infer<typeof StoredItemSchema>;

/** What actions answer. */
export const DoneSchema = z.strictObject({ ok: z.literal(true) });
export const RunSchema = z.strictObject({ cell: cellId });
export const WrittenRulesSchema = z.strictObject({
  ok: z.literal(true),
  policy_file: text.describe('The file that was changed.'),
  rules: z.array(RuleSchema).describe('What was added.'),
});
export type UiWrittenRules = z.infer<typeof WrittenRulesSchema>;
export type UiRule = z.infer<typeof RuleSchema>;
export const SavedToolSchema = z.strictObject({ ok: z.literal(true), name: text.describe('Name of the function.') });
export const LoginSchema = z.strictObject({
  ok: z.literal(true),
  url: text.optional().describe('The address to open; left out if no login is needed.'),
});
