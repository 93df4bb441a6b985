/**
 * The definition of the frames between the host and the kernel in the sandbox. `npm run gen` writes `frames.schema.json`, which
 * a test compares with the Python mirror, and the field tables of `docs/internals/protocol.md`. A frame is one line of JSON in
 * UTF-8; its keys are snake_case on both sides. Only the parts of checkpoints, of large results and of streams are bytes, which
 * follow their frame.
 */
import { z } from 'zod';
import { MAX_EGRESS_PIECE_BYTES, MAX_EGRESS_STREAM_BYTES } from '../base/egress-limits.ts';
import { MAX_CHECKPOINT_PART_BYTES, MAX_HOST_LINE_BYTES, MAX_REPORTED_NAMES } from '../base/limits.ts';

/** Incremented whenever a frame changes its meaning. Each side refuses any other version. */
export const PROTOCOL_VERSION = 1;

const cell = z.int().nonnegative().describe('Number of the cell in its session, counting from 1.');
const call = z
  .int()
  .nonnegative()
  .describe('Number of the call in its session, chosen by the sandbox and never reused.');

const checkpoint = z.int().nonnegative().describe('Number of the checkpoint in its sandbox.');

/** Not base64 in the frame itself, which takes several times as long (`docs/internals/decisions/041-checkpoints.md`). */
const partBytes = z.int().nonnegative().max(MAX_CHECKPOINT_PART_BYTES);

const stream = z
  .int()
  .positive()
  .describe('Number of the stream in its sandbox, chosen by the sandbox; each is higher than the one before.');

const EgressSchema = z
  .strictObject({
    certificate: z
      .string()
      .optional()
      .describe(
        'What programs must trust: the certificate of the authority of the bridge, as PEM. Set if streams may reach the host.',
      ),
    keys: z.record(z.string(), z.string()).describe('By name of a variable: the text that stands for a credential.'),
  })
  .describe('What code needs to send requests itself.');

/** A failure as it is sent: with the code, message and hint of the host's `BridgeError`. */
export const FrameErrorSchema = z
  .strictObject({
    code: z.string().describe('Stable code, for example `CALL_TIMEOUT`.'),
    message: z.string().describe('What failed, with value, limit and unit.'),
    hint: z.string().optional().describe('One next step.'),
    data: z.record(z.string(), z.unknown()).optional().describe('Details, which depend on `code`.'),
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
      .describe('Bytes of each stream to send from the start of a cell; as many are kept from its end.'),
    stored_output_bytes: z
      .int()
      .positive()
      .describe('Bytes of output, over all cells, kept for `runtime.output`; the oldest are dropped first.'),
    max_value_chars: z.int().positive().describe('Maximum length of the text of a last expression.'),
    max_line_bytes: z.int().positive().describe('Maximum length of a line that the host accepts.'),
    max_display_bytes: z
      .int()
      .positive()
      .describe('Total bytes of the images, sounds and documents that one cell may show.'),
    max_displays: z.int().positive().describe('Number of images, sounds and documents that one cell may show.'),
    max_reported_names: z.int().positive().describe('Maximum number of names of each kind to report.'),
    saved_tools: z
      .array(SavedToolSchema)
      .describe('Functions stored by earlier sessions, defined before the first cell.'),
    autoload: z.boolean().optional().describe('Whether the first call to a server loads it.'),
    no_packages: z.string().optional().describe('Why no package can be installed, as far as the host knows.'),
    command: z.string().optional().describe("What starts the bridge in the user's shell, for messages."),
    egress: EgressSchema.optional(),
    capability_summary: z.string().describe('Text of `runtime.capability_summary()`.'),
  })
  .describe('The first frame of the host, sent once. The kernel accepts nothing before it, and answers with `ready`.');

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
    restore: z
      .boolean()
      .optional()
      .describe('Whether to restore a checkpoint before the code runs: ask for it with `want_checkpoint`.'),
  })
  .describe('Run one cell. The host sends the next one only after the `result` of this one.');

export const InterruptFrameSchema = z
  .strictObject({
    type: z.literal('interrupt'),
    cell,
    reason: z.enum(['deadline', 'cancelled']).describe('Why the cell must end.'),
    sent_before: z.int().nonnegative().describe('Frames the host has sent before this one, `hello` included.'),
  })
  .describe('End the running cell. Ignored if `cell` is not running.');

export const AnswerPartFrameSchema = z
  .strictObject({
    type: z.literal('answer_part'),
    call,
    data: z
      .string()
      .describe('Next piece of the JSON text of the value; the pieces come in order, before the `answer`.'),
  })
  .describe('A piece of a value that is too long for one line.');

export const AnswerBytesFrameSchema = z
  .strictObject({
    type: z.literal('answer_bytes'),
    call,
    total: z.int().positive().describe('Number of bytes of the whole value, the same in each of its frames.'),
    bytes: z
      .int()
      .positive()
      .max(MAX_HOST_LINE_BYTES)
      .describe('Number of bytes that follow the frame: the next piece of the JSON text of the value, in UTF-8.'),
  })
  .describe(
    'A piece of a large result, as the server wrote it; it may end inside a character. Its bytes and a line feed follow the frame.',
  );

export const AnswerFrameSchema = z
  .strictObject({
    type: z.literal('answer'),
    call,
    ok: z.boolean().describe('Whether the call succeeded.'),
    value: z.unknown().optional().describe('The value, if `ok` and not sent in parts.'),
    parts: z
      .int()
      .positive()
      .optional()
      .describe('Number of `answer_part` or `answer_bytes` frames that hold the value instead.'),
    error: FrameErrorSchema.optional().describe('The failure, if not `ok`.'),
  })
  .describe('The end of a call. Every `call` gets exactly one, unless it was cancelled.');

export const CallProgressFrameSchema = z
  .strictObject({
    type: z.literal('call_progress'),
    call,
    progress: z.number().describe('How far the call has come, in a unit that the server chooses.'),
    total: z.number().optional().describe('The final value of `progress`, if the server knows it.'),
    message: z.string().optional().describe('What is being done.'),
  })
  .describe(
    'Progress that the server reports for a call that asked for it, before its `answer`. If reports come too fast, only the newest are sent.',
  );

export const SaveCheckpointFrameSchema = z
  .strictObject({
    type: z.literal('save_checkpoint'),
    checkpoint,
    max_bytes: z.int().positive().describe('Largest checkpoint that the host takes.'),
    memory_bytes: z
      .int()
      .positive()
      .describe('Memory that the session may use; a copy of the process is made only if twice its own fits in.'),
    may_block: z
      .boolean()
      .describe('Whether the session may stand still until the checkpoint is written, if no copy can be made.'),
  })
  .describe('Write a checkpoint: `checkpoint_part` frames, then `checkpoint_end`. Sent only while no cell runs.');

export const CheckpointTakenFrameSchema = z
  .strictObject({ type: z.literal('checkpoint_taken'), checkpoint })
  .describe('The host has stored a `checkpoint_part`. At most four may be unanswered.');

export const CheckpointDataFrameSchema = z
  .strictObject({
    type: z.literal('checkpoint_data'),
    bytes: partBytes.describe('Number of bytes that follow the frame; 0 at the end of the checkpoint.'),
  })
  .describe(
    'The answer to `want_checkpoint`, in the order of the requests. Its bytes and a line feed follow the frame.',
  );

export const EgressDataFrameSchema = z
  .strictObject({
    type: z.literal('egress_data'),
    stream,
    bytes: z.int().positive().max(MAX_EGRESS_PIECE_BYTES).describe('Number of bytes that follow the frame.'),
  })
  .describe('The next bytes of a stream. They and a line feed follow the frame.');

export const EgressEndFrameSchema = z
  .strictObject({ type: z.literal('egress_end'), stream })
  .describe('No more bytes follow in this direction.');

export const EgressResetFrameSchema = z
  .strictObject({ type: z.literal('egress_reset'), stream })
  .describe('The stream is gone, with whatever was on its way. Neither side answers.');

export const EgressTakenFrameSchema = z
  .strictObject({
    type: z.literal('egress_taken'),
    stream,
    bytes: z.int().positive().max(MAX_EGRESS_STREAM_BYTES).describe('How many more have been passed on.'),
  })
  .describe('Bytes of a stream have reached whoever reads it: as many more may follow.');

/** The frames of streams that both sides send. */
const STREAM_FRAMES = [
  EgressDataFrameSchema,
  EgressEndFrameSchema,
  EgressResetFrameSchema,
  EgressTakenFrameSchema,
] as const;

/** The frames that the host sends. */
export const HostFrameSchema = z.discriminatedUnion('type', [
  HelloFrameSchema,
  ExecuteFrameSchema,
  InterruptFrameSchema,
  AnswerPartFrameSchema,
  AnswerBytesFrameSchema,
  AnswerFrameSchema,
  CallProgressFrameSchema,
  SaveCheckpointFrameSchema,
  CheckpointTakenFrameSchema,
  CheckpointDataFrameSchema,
  ...STREAM_FRAMES,
]);

export const CodePackFrameSchema = z
  .strictObject({
    type: z.literal('code_pack'),
    data: z.string().describe('Base64 of compiled standard-library and kernel code; accepted only before `ready`.'),
  })
  .describe('Compiled code that the host may keep and send to later sandboxes with the same Python.');

/** What describes a Python. Chosen. */
const MAX_PYTHON_CHARS = 200;

export const ReadyFrameSchema = z
  .strictObject({
    type: z.literal('ready'),
    protocol_version: z.int().describe('Version of this protocol.'),
    python_version: z.string().max(MAX_PYTHON_CHARS).describe('For example `3.14.0`.'),
    platform: z.string().max(MAX_PYTHON_CHARS).describe('`sys.platform` and machine, for example `linux x86_64`.'),
    python: z
      .string()
      .max(MAX_PYTHON_CHARS)
      .optional()
      .describe(
        'The interpreter and the platform as locks of packages name them, for example `cpython-314 linux x86_64`.',
      ),
  })
  .describe('The kernel is ready for cells. Its first frame, except for `code_pack`.');

export const OutputFrameSchema = z
  .strictObject({
    type: z.literal('output'),
    cell,
    stream: z.enum(['stdout', 'stderr']).describe('Which stream.'),
    text: z.string().describe('Decoded text, never cut within a character.'),
    dropped_bytes: z.int().nonnegative().optional().describe('Bytes dropped immediately before `text`.'),
    dropped_lines: z.int().nonnegative().optional().describe('Number of line feeds among the dropped bytes.'),
  })
  .describe('Text that a cell wrote. All of it comes before the `result` of the cell.');

/** What the sandbox may ask the host to do; nothing else can be registered. The host checks the parameters of each method. */
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
  'find_new_servers',
  'propose_server',
  'fetch',
  'query_tool_docs',
  'search_tool_docs',
  'tool_specs',
  'stubs',
  'run_program',
  'install_packages',
  'read_wheel',
  'save_tool',
  'load_tool',
  'save_artifact',
  'load_artifact',
  'list_artifacts',
  'last_answer',
  'begin_step',
  'kept_step',
  'end_step',
  'to_toon',
  'start_job',
  'reset',
  'checkpoint',
  'restore',
  'checkpoints',
] as const;
export type CallMethod = (typeof CALL_METHODS)[number];

export const CallFrameSchema = z
  .strictObject({
    type: z.literal('call'),
    call,
    method: z.string().max(64).describe('Name of a method; see "Methods of `call`".'),
    params: z.record(z.string(), z.unknown()).describe('Parameters of the method.'),
    job: z
      .string()
      .max(64)
      .optional()
      .describe('Name of the calling job. Only jobs may make calls while no cell runs.'),
    step: z.int().positive().optional().describe('Number of the step in which the code makes the call.'),
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
    'The answer is no longer needed, so the host cancels the call at the upstream. The kernel ignores an answer that still arrives.',
  );

/** It has no code, because only the host sets codes. */
const ExceptionSchema = z.strictObject({
  name: z.string().describe('Class of the exception.'),
  message: z
    .string()
    .describe('`str()` of the exception; may be empty. For a failed call or check, without its code and hint.'),
  hint: z.string().optional().describe('One next step, if a failed call or the check before the cell gave one.'),
  traceback: z.string().describe('Traceback without the frames of the kernel; empty if `outcome` is `not_run`.'),
  call: call.optional().describe('The call whose failed `answer` raised this exception, if any.'),
});

/** Far more than the kernel sends. The session keeps `MAX_REPORTED_NAMES`. */
const MAX_NAMES = 10 * MAX_REPORTED_NAMES;

/** What the kernel lists of what a checkpoint does not hold, and the length of each text. */
const MAX_LOST = 100;
const MAX_LOST_CHARS = 200;

/** The length is checked first: a list of 250,000 numbers took 1 s, because each became an issue of the schema. */
const names = z
  .custom<unknown[]>((value) => Array.isArray(value) && value.length <= MAX_NAMES, 'expected a short list')
  .pipe(z.array(z.string()));

const NamesSchema = z.strictObject({
  variables: names.describe('Names bound to values.'),
  functions: names.describe('Names bound to functions and classes.'),
  imports: names.describe('Names bound to modules.'),
  omitted: z.int().nonnegative().describe('Number of further names, not listed.'),
});

export const ResultFrameSchema = z
  .strictObject({
    type: z.literal('result'),
    cell,
    outcome: z
      .enum(['ok', 'error', 'interrupted', 'exit', 'not_run'])
      .describe('How the cell ended. `exit`: SystemExit was raised; `not_run`: the check before the cell failed.'),
    value: z.string().optional().describe('Text of the last expression; omitted if there is none or it is None.'),
    error: ExceptionSchema.optional().describe('The exception, if `outcome` is `error`, `interrupted` or `not_run`.'),
    exit_code: z.int().optional().describe('Status of SystemExit, if `outcome` is `exit`.'),
    names: NamesSchema.optional().describe('Top-level names of the session; omitted if unchanged.'),
    imported: z
      .array(z.string().max(64))
      .max(64)
      .optional()
      .describe(
        'Modules beyond the standard library that cells of this sandbox have imported by name, each reported once.',
      ),
    memory_bytes: z
      .int()
      .nonnegative()
      .optional()
      .describe(
        'What the process of the session uses, for whoever watches; omitted if it has changed by less than 1 MiB, or if the platform does not say.',
      ),
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
      .describe('MIME type. `image/…` and `audio/…` come in `base64`, everything else in `text`.'),
    base64: z.base64().optional().describe('The bytes of an image or a sound.'),
    text: z.string().optional().describe('A document, for example of `text/html` or `image/svg+xml`.'),
  })
  .describe('Something to show other than plain text. A line of `output` marks its position in the text.');

export const ProgressFrameSchema = z
  .strictObject({
    type: z.literal('progress'),
    done: z.number().describe('How much is done, in a unit that the code chooses.'),
    total: z.number().optional().describe('How much there is to do, if known.'),
    message: z.string().optional().describe('What is being done.'),
  })
  .describe(
    'Progress reported by the code of the cell (`runtime.progress`). Not answered; ignored while no cell runs.',
  );

/** What a checkpoint does not hold. */
const LostSchema = z
  .custom<unknown[]>((value) => Array.isArray(value) && value.length <= MAX_LOST, 'expected a short list')
  .pipe(
    z.array(
      z.strictObject({
        name: z.string().max(MAX_LOST_CHARS).describe('Variable, file, task or thread.'),
        reason: z.string().max(MAX_LOST_CHARS).describe('Why.'),
      }),
    ),
  )
  .describe('What is not kept.');
const variables = z.int().nonnegative().describe('Number of variables.');
const files = z.int().nonnegative().describe('Number of files.');
const omitted = z.int().nonnegative().describe('Number of further things that are not kept.');

export const CheckpointPartFrameSchema = z
  .strictObject({
    type: z.literal('checkpoint_part'),
    checkpoint,
    bytes: partBytes.describe('Number of bytes that follow the frame.'),
    restart: z.boolean().optional().describe('Whether it is the first piece again; drop the earlier ones.'),
  })
  .describe('A piece of the checkpoint that the host has asked for. Its bytes and a line feed follow the frame.');

export const CheckpointEndFrameSchema = z
  .strictObject({
    type: z.literal('checkpoint_end'),
    checkpoint,
    ok: z.boolean().describe('Whether the checkpoint is complete.'),
    reason: z.string().max(1_000).optional().describe('Why it is not.'),
    variables: variables.optional(),
    files: files.optional(),
    lost: LostSchema.optional(),
    omitted: omitted.optional(),
  })
  .describe('The end of a checkpoint. Every `save_checkpoint` gets exactly one.');

export const WantCheckpointFrameSchema = z
  .strictObject({
    type: z.literal('want_checkpoint'),
    offset: z.int().nonnegative().describe('First byte.'),
    size: z.int().positive().describe('Number of bytes.'),
  })
  .describe('Ask for a part of the checkpoint that the running cell restores.');

export const RestoredFrameSchema = z
  .strictObject({ type: z.literal('restored'), variables, files, lost: LostSchema, omitted })
  .describe('The checkpoint is restored; the code of the cell follows.');

export const EgressOpenFrameSchema = z
  .strictObject({ type: z.literal('egress_open'), stream })
  .describe('A program in the sandbox has connected to the proxy: a stream in both directions begins.');

/** The frames that the kernel sends. */
export const SandboxFrameSchema = z.discriminatedUnion('type', [
  CodePackFrameSchema,
  ReadyFrameSchema,
  OutputFrameSchema,
  CallFrameSchema,
  CancelCallFrameSchema,
  JobEndedFrameSchema,
  DisplayFrameSchema,
  ProgressFrameSchema,
  CheckpointPartFrameSchema,
  CheckpointEndFrameSchema,
  WantCheckpointFrameSchema,
  RestoredFrameSchema,
  EgressOpenFrameSchema,
  ...STREAM_FRAMES,
  ResultFrameSchema,
]);

/**
 * The reports of the supervisor, each one line of JSON on the container's stderr. Only PID 1 has that descriptor, so code in
 * the sandbox cannot forge them.
 */
export const SupervisorReportSchema = z.discriminatedUnion('report', [
  z.strictObject({
    report: z.literal('started'),
    memory_limit_bytes: z.int().nullable().describe('Limit in force in the cgroup; null if there is none.'),
    pids_limit: z.int().nullable().describe('Limit in force in the cgroup; null if there is none.'),
    seccomp: z.boolean().describe('Whether the filter of the worker could be built for this machine.'),
    python: z.string().max(MAX_PYTHON_CHARS).optional().describe('As in `ready`.'),
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
export type CheckpointPartFrame = z.infer<typeof CheckpointPartFrameSchema>;
export type CheckpointEndFrame = z.infer<typeof CheckpointEndFrameSchema>;
export type WantCheckpointFrame = z.infer<typeof WantCheckpointFrameSchema>;
export type RestoredFrame = z.infer<typeof RestoredFrameSchema>;
export type ResultFrame = z.infer<typeof ResultFrameSchema>;
export type SandboxFrame = z.infer<typeof SandboxFrameSchema>;
export type SupervisorReport = z.infer<typeof SupervisorReportSchema>;
