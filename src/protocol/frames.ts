/**
 * The frames between the host and the kernel in the sandbox: the one definition.
 * `npm run gen` writes `frames.schema.json` (which the Python mirror is tested against) and the field tables of
 * `docs/internals/protocol.md` from it. One frame is one line of JSON in UTF-8; keys are snake_case on both sides.
 */
import { z } from 'zod';

/** Raised by one whenever a frame changes meaning; both sides refuse another number. */
export const PROTOCOL_VERSION = 1;

const cell = z.int().nonnegative().describe('Number of the cell in its session, counted from 1.');
const call = z
  .int()
  .nonnegative()
  .describe('Number of the call in its session, chosen by the sandbox, never used twice.');

/** A failure as it crosses the pipe: same code, message and hint as the host's `BridgeError`. */
export const FrameErrorSchema = z
  .strictObject({
    code: z.string().describe('Stable code, for example `CALL_TIMEOUT`.'),
    message: z.string().describe('What failed, with value, limit and unit.'),
    hint: z.string().optional().describe('One next step.'),
    data: z.record(z.string(), z.unknown()).optional().describe('Further facts; which ones depends on `code`.'),
  })
  .describe('A failure with a stable code.');

const ServerReferenceSchema = z.strictObject({
  name: z.string().describe('Name in the configuration.'),
  alias: z.string().describe('Python identifier; the proxy is `mcp_<alias>`.'),
  description: z.string().optional().describe('Description from the configuration.'),
});

const SavedToolSchema = z.strictObject({
  name: z.string().describe('Name of the function.'),
  source: z.string().describe('Its Python source.'),
});

export const HelloFrameSchema = z
  .strictObject({
    type: z.literal('hello'),
    protocol_version: z.int().describe('Version of this protocol; with any other, the kernel exits.'),
    session: z.string().describe('Name of the session.'),
    generation: z.int().positive().describe('1 for the first sandbox of the session, one more after each restart.'),
    kept_output_bytes: z
      .int()
      .positive()
      .describe('Bytes of one stream sent from the start of a cell; as many are kept from its end.'),
    stored_output_bytes: z
      .int()
      .positive()
      .describe('Bytes of output, over all cells, kept for `runtime.output`; the oldest are dropped first.'),
    max_value_chars: z.int().positive().describe('Longest text of a last expression.'),
    max_line_bytes: z.int().positive().describe('Longest line the host accepts.'),
    max_display_bytes: z.int().positive().describe('Total bytes of images, sounds and documents one cell may show.'),
    max_displays: z.int().positive().describe('Number of them one cell may show.'),
    max_reported_names: z.int().positive().describe('Most names of each kind to report.'),
    saved_tools: z
      .array(SavedToolSchema)
      .describe('Functions stored by earlier sessions, defined before the first cell.'),
    autoload: z.boolean().optional().describe('Whether the first call to a server loads it.'),
    capability_summary: z.string().describe('Text of `runtime.capability_summary()`.'),
  })
  .describe('First frame of the host, once; the kernel reads nothing before it and answers `ready`.');

export const ExecuteFrameSchema = z
  .strictObject({
    type: z.literal('execute'),
    cell,
    code: z.string().describe('Python source; top-level `await` is allowed.'),
    servers: z
      .array(ServerReferenceSchema)
      .describe('Every server loaded in this session, including those of this cell.'),
    discovered: z
      .array(ServerReferenceSchema)
      .optional()
      .describe('Every configured server; sent if the list changed since the last cell.'),
  })
  .describe('Run one cell. The host sends the next one only after the `result` of the one before.');

export const InterruptFrameSchema = z
  .strictObject({
    type: z.literal('interrupt'),
    cell,
    reason: z.enum(['deadline', 'cancelled']).describe('Why the cell has to end.'),
    sent_before: z.int().nonnegative().describe('Frames the host has sent before this one, `hello` included.'),
  })
  .describe('End the running cell. Ignored if `cell` is not the one that runs.');

export const AnswerPartFrameSchema = z
  .strictObject({
    type: z.literal('answer_part'),
    call,
    data: z
      .string()
      .describe('Next piece of the JSON text of the value; the pieces come in order, before the `answer`.'),
  })
  .describe('A piece of a value too long for one line.');

export const AnswerFrameSchema = z
  .strictObject({
    type: z.literal('answer'),
    call,
    ok: z.boolean().describe('Whether the call succeeded.'),
    value: z.unknown().optional().describe('The value, if `ok` and not sent in parts.'),
    parts: z.int().positive().optional().describe('Number of `answer_part` frames that hold the value instead.'),
    error: FrameErrorSchema.optional().describe('The failure, if not `ok`.'),
  })
  .describe('The end of a call. Every `call` gets exactly one, unless it was cancelled.');

export const CallProgressFrameSchema = z
  .strictObject({
    type: z.literal('call_progress'),
    call,
    progress: z.number().describe('How far the call has come, in units the server chooses.'),
    total: z.number().optional().describe('The final value of `progress`, if the server knows it.'),
    message: z.string().optional().describe('What is being done.'),
  })
  .describe(
    'Progress that the server reports for a call that asked for it, before its `answer`. Reports that come too fast are reduced to the newest.',
  );

/** Frames the host sends. */
export const HostFrameSchema = z.discriminatedUnion('type', [
  HelloFrameSchema,
  ExecuteFrameSchema,
  InterruptFrameSchema,
  AnswerPartFrameSchema,
  AnswerFrameSchema,
  CallProgressFrameSchema,
]);

export const CodePackFrameSchema = z
  .strictObject({
    type: z.literal('code_pack'),
    data: z.string().describe('Base64 of compiled standard-library and kernel code; accepted only before `ready`.'),
  })
  .describe('Compiled code the host may keep and send to later sandboxes with the same Python.');

export const ReadyFrameSchema = z
  .strictObject({
    type: z.literal('ready'),
    protocol_version: z.int().describe('Version of this protocol.'),
    python_version: z.string().describe('For example `3.14.0`.'),
    platform: z.string().describe('`sys.platform` and machine, for example `linux x86_64`.'),
  })
  .describe('The kernel is ready for cells. Its first frame, except for `code_pack`.');

export const OutputFrameSchema = z
  .strictObject({
    type: z.literal('output'),
    cell,
    stream: z.enum(['stdout', 'stderr']).describe('Which stream.'),
    text: z.string().describe('Decoded text, never cut within a character.'),
    dropped_bytes: z.int().nonnegative().optional().describe('Bytes left out immediately before `text`.'),
    dropped_lines: z.int().nonnegative().optional().describe('Number of line ends among the bytes left out.'),
  })
  .describe('Text a cell wrote. All of it comes before the `result` of the cell.');

/** What the sandbox may ask of the host; parameters are checked per method by the host. */
export const CALL_METHODS = [
  'call_tool',
  'list_tools',
  'describe_server',
  'discovered_servers',
  'list_resources',
  'list_resource_templates',
  'read_resource',
  'list_prompts',
  'get_prompt',
  'find_servers',
  'query_tool_docs',
  'search_tool_docs',
  'tool_specs',
  'stubs',
  'save_tool',
  'save_artifact',
  'load_artifact',
  'list_artifacts',
  'to_toon',
  'start_job',
  'reset',
] as const;
export type CallMethod = (typeof CALL_METHODS)[number];

export const CallFrameSchema = z
  .strictObject({
    type: z.literal('call'),
    call,
    method: z.string().max(64).describe('Name of a method, see "Methods of `call`".'),
    params: z.record(z.string(), z.unknown()).describe('Parameters of the method.'),
    job: z
      .string()
      .max(64)
      .optional()
      .describe('Name of the calling job. Only jobs may make calls while no cell runs.'),
  })
  .describe('Ask the host to do something.');

export const JobEndedFrameSchema = z
  .strictObject({
    type: z.literal('job_ended'),
    name: z.string().max(64).describe('Its name.'),
  })
  .describe('A job that `start_job` declared has ended; its calls are refused from now on.');

export const CancelCallFrameSchema = z
  .strictObject({
    type: z.literal('cancel_call'),
    call,
  })
  .describe(
    'The answer is no longer needed; the host cancels the call at the upstream. An answer that still arrives is ignored.',
  );

/** No member of it is a code: codes are the host's. */
const ExceptionSchema = z.strictObject({
  name: z.string().describe('Class of the exception.'),
  message: z
    .string()
    .describe('`str()` of the exception; may be empty. Without code and hint for a failed call or check.'),
  hint: z.string().optional().describe('One next step, when a failed call or the check before the cell gave one.'),
  traceback: z.string().describe('Traceback without the frames of the kernel; empty when `outcome` is `not_run`.'),
  call: call.optional().describe('The call whose failed `answer` is this very exception, if there is one.'),
});

const NamesSchema = z.strictObject({
  variables: z.array(z.string()).describe('Names bound to values.'),
  functions: z.array(z.string()).describe('Names bound to functions and classes.'),
  imports: z.array(z.string()).describe('Names bound to modules.'),
  omitted: z.int().nonnegative().describe('Number of further names, not listed.'),
});

export const ResultFrameSchema = z
  .strictObject({
    type: z.literal('result'),
    cell,
    outcome: z
      .enum(['ok', 'error', 'interrupted', 'exit', 'not_run'])
      .describe('How the cell ended: `exit` is SystemExit, `not_run` a cell that the check before it stopped.'),
    value: z.string().optional().describe('Text of the last expression, unless there is none or it is None.'),
    error: ExceptionSchema.optional().describe('The exception, if `outcome` is `error`, `interrupted` or `not_run`.'),
    exit_code: z.int().optional().describe('Status of SystemExit, if `outcome` is `exit`.'),
    names: NamesSchema.optional().describe('Top-level names of the session; omitted if unchanged.'),
    missed_frames: z
      .int()
      .positive()
      .optional()
      .describe(
        'Number of frames sent before the `interrupt` of this cell that never arrived; the host then ends the sandbox.',
      ),
  })
  .describe('The end of a cell. Every `execute` gets exactly one.');

export const DisplayFrameSchema = z
  .strictObject({
    type: z.literal('display'),
    cell,
    mime_type: z
      .string()
      .regex(/^[a-z]+\/[\w.+-]{1,80}$/)
      .describe('What it is: `image/…` and `audio/…` come as `base64`, everything else as `text`.'),
    base64: z.base64().optional().describe('The bytes of an image or a sound.'),
    text: z.string().optional().describe('A document, for example of `text/html` or `image/svg+xml`.'),
  })
  .describe('Something to show other than plain text. A line of `output` marks its position in the text.');

export const ProgressFrameSchema = z
  .strictObject({
    type: z.literal('progress'),
    done: z.number().describe('How much is done, in units the code chooses.'),
    total: z.number().optional().describe('How much there is to do, if known.'),
    message: z.string().optional().describe('What is being done.'),
  })
  .describe(
    'Progress reported by the code of the cell (`runtime.progress`). Not answered; ignored while no cell runs.',
  );

/** Frames the kernel sends. */
export const SandboxFrameSchema = z.discriminatedUnion('type', [
  CodePackFrameSchema,
  ReadyFrameSchema,
  OutputFrameSchema,
  CallFrameSchema,
  CancelCallFrameSchema,
  JobEndedFrameSchema,
  DisplayFrameSchema,
  ProgressFrameSchema,
  ResultFrameSchema,
]);

/**
 * The supervisor's only words, one JSON line each on the container's stderr. PID 1 is the only process that holds
 * that descriptor, so code in the sandbox cannot forge them.
 */
export const SupervisorReportSchema = z.discriminatedUnion('report', [
  z.strictObject({
    report: z.literal('started'),
    memory_limit_bytes: z.int().nullable().describe('Limit in force in the cgroup; null if there is none.'),
    pids_limit: z.int().nullable().describe('Limit in force in the cgroup; null if there is none.'),
    seccomp: z.boolean().describe('Whether the filter of the worker could be built for this machine.'),
  }),
  z.strictObject({
    report: z.literal('ended'),
    cause: z.enum(['exit', 'signal', 'memory', 'pids', 'failed']).describe('Why the worker ended.'),
    exit_code: z.int().nullable().describe('Exit status of the worker; null if a signal ended it.'),
    signal: z.int().nullable().describe('Number of the signal that ended the worker; null if none did.'),
    stdout: z.string().optional().describe('Base64 of stdout that the worker wrote but did not send before it ended.'),
    stderr: z.string().optional().describe('The same for stderr.'),
    detail: z.string().optional().describe('Details, if the start failed.'),
  }),
]);

export type ServerReference = z.infer<typeof ServerReferenceSchema>;
export type FrameError = z.infer<typeof FrameErrorSchema>;
export type HelloFrame = z.infer<typeof HelloFrameSchema>;
export type ExecuteFrame = z.infer<typeof ExecuteFrameSchema>;
export type InterruptFrame = z.infer<typeof InterruptFrameSchema>;
export type AnswerFrame = z.infer<typeof AnswerFrameSchema>;
export type HostFrame = z.infer<typeof HostFrameSchema>;
export type ReadyFrame = z.infer<typeof ReadyFrameSchema>;
export type OutputFrame = z.infer<typeof OutputFrameSchema>;
export type CallFrame = z.infer<typeof CallFrameSchema>;
export type DisplayFrame = z.infer<typeof DisplayFrameSchema>;
export type ProgressFrame = z.infer<typeof ProgressFrameSchema>;
export type ResultFrame = z.infer<typeof ResultFrameSchema>;
export type SandboxFrame = z.infer<typeof SandboxFrameSchema>;
export type SupervisorReport = z.infer<typeof SupervisorReportSchema>;
