/**
 * Every default limit of the bridge, with its unit in the name and the reason beside it.
 * Limits a user may change are settings (`settings/settings.ts`) whose defaults stand here.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Longest line accepted from a sandbox. One parse of 8 MiB of small objects blocks the host for about 180 ms (measured). */
export const MAX_SANDBOX_LINE_BYTES = 8 * MIB;
/**
 * What one line from a sandbox may hold, as `measureJson` counts it. A line of 8 MiB has room for 5,600,000 empty arrays, or
 * for 600,000 members of one object, which took 1 s and 3 s to read; at these bounds it is 0.2 s at most, and what a cell sends
 * in earnest stays below (all measured, or chosen from that).
 */
export const MAX_LINE_VALUES = 250_000;
export const MAX_LINE_MEMBERS = 75_000;
/** Of them, numbers that JavaScript does not hold exactly. */
export const MAX_LINE_LONG_NUMBERS = 25_000;
/** Longest line sent to a sandbox; a larger answer travels in parts, so that an interrupt never waits behind it. */
export const MAX_HOST_LINE_BYTES = 1 * MIB;
/** JSON deeper than this is refused: `JSON.stringify` and zod overflow the stack at about 10,000 levels (measured). */
export const MAX_JSON_DEPTH = 200;
/** Frames a sandbox may send in one cell; it can send 1,000,000 a second (measured), an honest cell sends far fewer. */
export const MAX_FRAMES_PER_CELL = 2_000_000;
/** Calls in flight per session; more wait in the host. Chosen so that 1,000 concurrent calls need no waiting. */
export const MAX_CALLS_IN_FLIGHT = 1_024;
/** Calls one cell may make. Chosen: far above any honest loop that ends before the longest deadline. */
export const MAX_CALLS_PER_CELL = 100_000;
/** Questions one cell may put to the person, who tires earlier. Chosen; with their time limit it bounds how long a cell can last. */
export const MAX_QUESTIONS_PER_CELL = 25;
/** Jobs that run between the cells of one session. Chosen. */
export const MAX_JOBS = 16;
/** Calls that may wait for a place; the kernel is told at once when there are more. */
export const MAX_CALLS_WAITING = 20_000;
/** Bytes of one upstream result. The product promises 64 MiB; the rest is JSON escaping. */
export const MAX_RESULT_BYTES = 160 * MIB;
/** Characters of one value as TOON. Indentation makes 94 MB of the 8 MiB that a sandbox can send; a person reads far less. Chosen. */
export const MAX_TOON_CHARS = 8 * MIB;
/** Bytes of answers not yet taken by one sandbox, before further answers are refused. */
export const MAX_UNSENT_BYTES = 256 * MIB;
/** Text of one stream kept from the start of a cell, in bytes; the same again is kept from its end. */
export const KEPT_OUTPUT_BYTES = 256 * KIB;
/** Output kept in a sandbox for `runtime.output`, as long as it is no larger share of its memory. Both chosen. */
export const MAX_STORED_OUTPUT_BYTES = 32 * MIB;
export const STORED_OUTPUT_SHARE = 1 / 16;
/** Longest `repr` of a last expression that is sent, in characters. */
export const MAX_VALUE_CHARS = 256 * KIB;
/** Longest `code` argument, in bytes of UTF-8. Chosen: a model writes far less; data belongs into files or calls. */
export const MAX_CODE_BYTES = 1 * MIB;
/** Characters of one answer shown to the agent: about 10,000 tokens at 4 characters each. */
export const MAX_SHOWN_CHARS = 40_000;
/** Images, sounds and documents in one answer; clients and models take about as many. Chosen. */
export const MAX_DISPLAYS = 20;
/** Their bytes, base64 not counted; the API behind most clients takes about 5 MB of images in one request. */
export const MAX_DISPLAY_BYTES = 4 * MIB;
/** One file that code keeps on the host. Chosen: as much as a tool may return. */
export const MAX_ARTIFACT_BYTES = 64 * MIB;
/** Files of one session. Chosen: far above what a person would look through. */
export const MAX_ARTIFACTS_PER_SESSION = 1_000;
/** Links to them in one answer. Chosen. */
export const MAX_LINKS = 50;
/** Names kept of each kind for the report of lost state. */
export const MAX_REPORTED_NAMES = 100;
/** Size of /tmp in a sandbox. Both sizes are those of the program whose users switch to this one. */
export const TMP_BYTES = 64 * MIB;
/** Size of /workspace in a sandbox, where the code's files are. */
export const WORKSPACE_BYTES = 128 * MIB;
/** Live sessions at once. Each may use `MCP_BRIDGE_MEMORY`. */
export const MAX_SESSIONS = 16;
/** Time from spawn until the kernel is ready. A cold start is 0.2 s; a loaded laptop takes several seconds. */
export const START_TIMEOUT_MS = 60_000;
/** Time a start has beyond the time of its cell: a cold start on a busy machine takes a second, and a cell may ask for no more. Chosen. */
export const START_GRACE_MS = 2_000;
/** Time a cell has to end after an interrupt before its session is killed. */
export const INTERRUPT_GRACE_MS = 2_000;
/** A second interrupt is sent after this long, for code that swallowed the first in a callback. */
export const INTERRUPT_REPEAT_MS = 1_000;
/** Time the orderly end of a sandbox may take before its client process is killed (order of DESIGN: EOF first). */
export const STDIN_END_GRACE_MS = 500;
/** Time an answer to a client may wait for a pull before it says how far the pull is. Clients give up after 60 s. */
export const PULL_ANSWER_MS = 45_000;
/** End of engine stderr kept for error messages. */
export const KEPT_STDERR_BYTES = 4 * KIB;
/** Source of one saved tool, in bytes. */
export const MAX_SAVED_TOOL_BYTES = 64 * KIB;
/** Saved tools sent to a new session. */
export const MAX_SAVED_TOOLS = 200;
/** Files that the audit log may have; the oldest goes when there are more. Chosen: one is removed without losing much. */
export const AUDIT_FILES = 16;
/** Time a cell waits until it is recorded, where a record is required. A disk takes under 1 ms; a network's longer. Chosen. */
export const AUDIT_WAIT_MS = 5_000;
/**
 * Longest line accepted from the MCP client. Far above `MAX_CODE_BYTES`, so that code that is too long gets a clear answer; a
 * message takes about four times its length while it is read.
 */
export const MAX_CLIENT_LINE_BYTES = 16 * MIB;
/** Bytes of answers that the client has not read, before further cells wait. Chosen: 200 answers of the longest kind. */
export const MAX_UNREAD_BYTES = 16 * MIB;
