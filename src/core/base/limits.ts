/**
 * Every limit of the bridge, with the unit in its name and the reason beside it. "Chosen" means that no measurement backs the
 * number. Limits that users can change are settings (`settings/settings.ts`).
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** The longest line accepted from a sandbox. Parsing 8 MiB of small objects blocks the host for about 180 ms (measured). */
export const MAX_SANDBOX_LINE_BYTES = 8 * MIB;
/**
 * How many values and members one line from a sandbox may have, as `measureJson` counts them. A line of 8 MiB has room for
 * 5,600,000 empty arrays, which took 1 s to parse, or for 600,000 members of one object, which took 3 s. Within these limits,
 * parsing takes at most 0.2 s, and no honest cell comes near them (all measured).
 */
export const MAX_LINE_VALUES = 250_000;
export const MAX_LINE_MEMBERS = 75_000;
/** The same for numbers that a JavaScript number cannot hold exactly. */
export const MAX_LINE_LONG_NUMBERS = 25_000;
/**
 * The same for a message of a client. The SDK copies objects several times, which takes 30 µs for each key that V8 has not met: 4 MiB
 * of them took 3 s. An honest message has some hundred (all measured).
 */
export const MAX_CLIENT_VALUES = 100_000;
export const MAX_CLIENT_MEMBERS = 50_000;
export const MAX_CLIENT_KEYS = 2_000;
/** The longest line sent to a sandbox. A larger answer is sent in parts, so that an interrupt never has to wait for it. */
export const MAX_HOST_LINE_BYTES = 1 * MIB;
/** JSON nested more deeply is refused: `JSON.stringify` and zod overflow the stack at about 10,000 levels (measured). */
export const MAX_JSON_DEPTH = 200;
/** Frames that a sandbox may send in one cell. It can send 1,000,000 per second (measured); an honest cell sends far fewer. */
export const MAX_FRAMES_PER_CELL = 2_000_000;
/** What a value costs in memory beyond its characters: `{},` becomes an object of 64 bytes (measured with V8 of Node 20). */
export const BYTES_PER_VALUE = 64;
/**
 * Bytes of the calls of one sandbox that run at once; further calls wait. Each byte is there as text, as values, as JSON and in the
 * pipe to the server. Above the cost of the largest line of plain text, so that it can run beside small calls.
 */
export const MAX_RUNNING_CALL_BYTES = 24 * MIB;
/**
 * Bytes of the calls of one sandbox that wait; any further call is refused. The kernel sends at most 24 MiB that is not answered,
 * or one call, and one more: two of the largest lines, each with two bytes for a character, need 63 MiB.
 */
export const MAX_WAITING_CALL_BYTES = 64 * MIB;
/** Large data from sandboxes and for them after which the bridge collects garbage. Chosen: V8 alone leaves 200 MiB (measured). */
export const MAX_GARBAGE_BYTES = 24 * MIB;
/** Smaller data is not counted as such: V8 collects it with the young objects. Chosen. */
export const MIN_GARBAGE_BYTES = 256 * KIB;
/**
 * Calls per session that the host itself answers at once: documents, artifacts, tables. A request of 100 bytes can have an answer
 * of megabytes. Chosen.
 */
export const MAX_HOST_CALLS_IN_FLIGHT = 8;
/** Calls in flight per session; further calls wait in the host. Chosen so that 1,000 concurrent calls need not wait. */
export const MAX_CALLS_IN_FLIGHT = 1_024;
/** Calls that one cell may make. Chosen: far above any honest loop that ends before the longest deadline. */
export const MAX_CALLS_PER_CELL = 100_000;
/** Questions that one cell may ask the person. Chosen; together with their time limit, it bounds how long a cell can last. */
export const MAX_QUESTIONS_PER_CELL = 25;
/** Background jobs that may run between the cells of one session. Chosen. */
export const MAX_JOBS = 16;
/** Calls that may wait per session; any further call is refused at once. */
export const MAX_CALLS_WAITING = 20_000;
/** The largest result of a server. The documented limit is 64 MiB; the rest allows for JSON escaping. */
export const MAX_RESULT_BYTES = 160 * MIB;
/** The longest message of a server of which nothing was asked but its handshake. Chosen: notifications and questions are small. */
export const MAX_UNASKED_BYTES = 4 * MIB;
/** The smallest result that is passed on as bytes. Chosen: a smaller one is parsed in a few milliseconds. */
export const MIN_RESULT_BYTES = 256 * KIB;
/**
 * Bytes of results of one remote server that are not complete yet; beyond that, the one that grows is refused, unless it is
 * the only one. A server could send the largest result to each of 256 calls at once. Chosen: room for one of the largest.
 */
export const MAX_ARRIVING_BYTES = 192 * MIB;
/**
 * Values of one result, different keys in it, as `measureJson` counts them, and those of its numbers that a JavaScript number
 * cannot hold exactly. 40 MB of `{},` blocked the bridge for 37 s and took 1.2 GiB; within these limits, parsing takes up to 1 s and
 * 200 MiB (measured).
 */
export const MAX_RESULT_VALUES = 2_000_000;
export const MAX_RESULT_KEYS = 200_000;
export const MAX_RESULT_LONG_NUMBERS = 200_000;
/** The longest value as TOON. Indentation can turn the 8 MiB that a sandbox may send into 94 MB. Chosen: a person reads far less. */
export const MAX_TOON_CHARS = 8 * MIB;
/** What waits for a server to read it; beyond that, further messages to it are refused. Twice what the calls of a sandbox may need. */
export const MAX_UNWRITTEN_BYTES = 64 * MIB;
/** Bytes of results that one sandbox has not read yet; beyond that, further results are refused, unless it is the only one. */
export const MAX_UNSENT_BYTES = 128 * MIB;
/** Bytes of answers that one sandbox has not read yet, beyond which no further call starts. Chosen: far above what a pipe holds. */
export const MAX_UNREAD_ANSWER_BYTES = 8 * MIB;
/** Bytes of all other frames that one sandbox has not read yet; beyond that, it is ended. 100,000 refused calls need 50 MB. */
export const MAX_UNSENT_FRAME_BYTES = 96 * MIB;
/** The largest checkpoint of a session. */
export const MAX_CHECKPOINT_BYTES = 256 * MIB;
/** All checkpoints in a state directory, which each principal has: of all projects, clients and bridges. Chosen. */
export const MAX_CHECKPOINTS_BYTES = 4096 * MIB;
/** The named checkpoints of one session. Chosen: a session cannot push out others before they use three quarters. */
export const MAX_NAMED_CHECKPOINTS_BYTES = 1024 * MIB;
/** What a small checkpoint counts as, so that their number has a limit, too: 65,536. */
export const MIN_CHECKPOINT_BYTES = 64 * KIB;
/** How long an unused checkpoint is kept. */
export const MAX_CHECKPOINT_AGE_MS = 30 * 24 * 60 * 60 * 1000;
/** Named checkpoints of one session. Chosen. */
export const MAX_NAMED_CHECKPOINTS = 20;
/** How long the end of a bridge waits for the last checkpoint of each session. Chosen: clients kill a bridge that takes longer. */
export const LAST_CHECKPOINT_MS = 1_500;
/** The same for `serve --http`, which may have many sessions and is given more time. Chosen. */
export const LAST_CHECKPOINT_OF_SERVICE_MS = 6_000;
/** The largest part of it that a sandbox may ask for at once. The kernel asks for 720 KiB. */
export const MAX_CHECKPOINT_PART_BYTES = MIB;
/** How long a session must have been quiet before a checkpoint is taken. Chosen: an agent's next cell takes longer. */
export const QUIET_BEFORE_CHECKPOINT_MS = 300;
/** How long cells may follow each other at once before a checkpoint is taken in between. Chosen. */
export const UNSAVED_MS = 5_000;
/** How long a checkpoint may take. The kernel gives up a copy of the process after 60 s. */
export const SAVE_TIMEOUT_MS = 90_000;
/** How long restoring a checkpoint may take. Chosen: 100 MB take about 1 s. */
export const RESTORE_TIMEOUT_MS = 60_000;
/** How much of the memory limit a session and a copy of it may use together, so that the copy does not end both. */
export const COPY_SHARE = 0.85;
/** How much of a stream is kept from the start of a cell; as much again is kept from its end. */
export const KEPT_OUTPUT_BYTES = 256 * KIB;
/** Output kept in the sandbox for `runtime.output`, but no more than this share of the sandbox's memory. Both chosen. */
export const MAX_STORED_OUTPUT_BYTES = 32 * MIB;
export const STORED_OUTPUT_SHARE = 1 / 16;
/** The longest `repr` of a last expression that is sent. */
export const MAX_VALUE_CHARS = 256 * KIB;
/** The longest `code` argument, in bytes of UTF-8. Chosen: a model writes far less, and data belongs in files or calls. */
export const MAX_CODE_BYTES = 1 * MIB;
/** The longest answer shown to the agent: about 10,000 tokens of 4 characters each. */
export const MAX_SHOWN_CHARS = 40_000;
/** Images, sounds and documents in one answer. Chosen: about as many as clients and models accept. */
export const MAX_DISPLAYS = 20;
/** Their total size before base64; the API behind most clients accepts about 5 MB of images per request. */
export const MAX_DISPLAY_BYTES = 4 * MIB;
/** The largest artifact. Chosen: as large as a tool's result may be. */
export const MAX_ARTIFACT_BYTES = 64 * MIB;
/** The longest piece of an artifact in one call. The kernel sends and asks for pieces of this size. */
export const MAX_ARTIFACT_PIECE_BYTES = 1 * MIB;
/** Artifacts of one session that are being saved at once; the one that waits longest is given up. Chosen. */
export const MAX_ARTIFACT_TRANSFERS = 8;
/** What all artifacts of all sessions take on disk, with what is being saved. Chosen: room for 64 of the largest. */
export const MAX_ALL_ARTIFACTS_BYTES = 4096 * MIB;
/** Of that, what one session takes: the others have room for theirs. Chosen. */
export const MAX_SESSION_ARTIFACTS_BYTES = 3072 * MIB;
/** Artifacts per session, and of all sessions: their names are free. Chosen: far more than a person would look through. */
export const MAX_ALL_ARTIFACTS = 10_000;
export const MAX_ARTIFACTS_PER_SESSION = 1_000;
/** Links to artifacts in one answer. Chosen. */
export const MAX_LINKS = 50;
/** How many names of each kind are kept, to report them if state is lost. */
export const MAX_REPORTED_NAMES = 100;
/** The size of /tmp in a sandbox. Both sizes match those of the program whose users switch to this one. */
export const TMP_BYTES = 64 * MIB;
/** The size of /workspace in a sandbox, the working directory of the code. */
export const WORKSPACE_BYTES = 128 * MIB;
/** Live sessions at once. Each may use up to `MCP_BRIDGE_MEMORY`. */
export const MAX_SESSIONS = 16;
/** What `MCP_BRIDGE_MAX_SESSIONS` may be at most. Chosen: an idle kernel needs about 25 MB. */
export const SESSIONS_CEILING = 1_000;
/** Time from starting the sandbox until its kernel must be ready. A cold start takes 0.2 s, but several seconds on a loaded laptop. */
export const START_TIMEOUT_MS = 60_000;
/** Time for a start on top of the cell's own. Chosen: a cold start on a busy machine takes 1 s, and a cell's timeout may be that short. */
export const START_GRACE_MS = 2_000;
/** Time that a cell has to end after an interrupt before its session is killed. */
export const INTERRUPT_GRACE_MS = 2_000;
/** When to send a second interrupt, for code that swallowed the first one in a callback. */
export const INTERRUPT_REPEAT_MS = 1_000;
/** Time that a sandbox has to end after its stdin was closed, before its client process is killed. */
export const STDIN_END_GRACE_MS = 500;
/** How long an answer may wait for a pull before it reports the progress instead. Clients give up after 60 s. */
export const PULL_ANSWER_MS = 45_000;
/** How much of the end of an engine's stderr is kept for error messages. */
export const KEPT_STDERR_BYTES = 4 * KIB;
/** The longest source of a saved function. */
export const MAX_SAVED_TOOL_BYTES = 64 * KIB;
/** Saved functions that are sent to a new session. */
export const MAX_SAVED_TOOLS = 200;
/** Of them, those that the code of one session has saved last, so that it leaves room for others. Chosen. */
export const MAX_SAVED_TOOLS_OF_SESSION = 150;
/** The largest `languages.json`. Chosen: room for the longest entry of every language. */
export const MAX_LANGUAGES_FILE_BYTES = 1 * MIB;
/** Languages in `languages.json`. Chosen: far more than anyone uses. */
export const MAX_LANGUAGES = 100;
/** The largest snippet. As long as the code of a cell may be. */
export const MAX_SNIPPET_BYTES = 1 * MIB;
/** Snippets in the state directory. Chosen: all of them are in the resource list. */
export const MAX_SNIPPETS = 1_000;
/** Files of the audit log; beyond that, the oldest is deleted. Chosen: enough that deleting one loses little. */
export const AUDIT_FILES = 16;
/** How long a cell waits for a required record to be written. A disk takes under 1 ms, a network drive longer. Chosen. */
export const AUDIT_WAIT_MS = 5_000;
/**
 * The longest line accepted from the MCP client. Far above `MAX_CODE_BYTES`, so that code that is too long still gets a clear
 * answer. Reading a message takes about four times its length in memory.
 */
export const MAX_CLIENT_LINE_BYTES = 16 * MIB;
/** Bytes of answers that the client has not read yet; beyond that, cells wait. Chosen: room for 200 of the longest answers. */
export const MAX_UNREAD_BYTES = 16 * MIB;
/** A longer result is left out of a recording. Chosen: what one call usually returns is far smaller. */
export const MAX_RECORDED_RESULT_BYTES = 16 * MIB;
/** A larger result of a step is not kept, so that the step is done again when its run goes on. In base64, it fits in a line. */
export const MAX_KEPT_STEP_BYTES = 4 * MIB;
/** Steps of a session that run at once. Chosen: as many as calls in flight. */
export const MAX_STEPS_AT_ONCE = 1_024;
/** The longest recording. Chosen: as much as all checkpoints of a project. */
export const MAX_RECORDING_BYTES = 1024 * MIB;
/** Bytes of a recording that wait for the disk; beyond that, calls wait. */
export const MAX_UNRECORDED_BYTES = 32 * MIB;
