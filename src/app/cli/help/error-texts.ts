/**
 * The usual cause and the remedy of each error code, for docs/reference/errors.md, which is generated from this file, and for
 * `help CODE`. Kept apart from `errors.ts`, which is loaded at every start of the bridge.
 */
import { ERROR_CODES, type ErrorCode } from '../../../core/base/errors.ts';
import { MAX_CALLS_PER_CELL, MAX_CALLS_WAITING, MAX_JOBS } from '../../../core/base/limits.ts';
import { COMMAND } from '../../../core/base/package.ts';

const inDigits = (count: number): string => count.toLocaleString('en-US');

interface ErrorPage {
  /** Why it usually happens; full sentences in Markdown. */
  readonly cause: string;
  /** What to do; full sentences in Markdown. */
  readonly remedy: string;
  /** Whether every error of this code has a hint; otherwise some have none. */
  readonly hasHint: boolean;
}

/** One page for each code; the type ensures that none is missing. */
export const ERROR_PAGES: Readonly<Record<ErrorCode, ErrorPage>> = {
  ARGUMENT_INVALID: {
    cause:
      'One of `code`, `servers`, `timeout` and `session` has the wrong type, is out of range, or names a server that is not configured.',
    remedy: 'Correct the argument; the message says what is allowed. Nothing was run.',
    hasHint: false,
  },
  USAGE_INVALID: {
    cause: 'A command, option or value is misspelled or missing, or cannot be combined with the others.',
    remedy: 'Run the command with `--help` to see its usage.',
    hasHint: true,
  },
  CONFIG_INVALID: {
    cause: 'A setting has an invalid value, or a server file or client file is invalid or cannot be read.',
    remedy:
      'Fix the setting or file that the message names. Settings are usually in the `env` of the entry that registers the bridge; `help settings` lists them.',
    hasHint: true,
  },
  ENGINE_UNAVAILABLE: {
    cause:
      'No engine works, or the one named by `MCP_BRIDGE_RUNTIME` does not: it is not installed, is not running, or does not accept this user.',
    remedy: `Run \`${COMMAND} doctor\`, which shows the reason for each engine. Fix one of them, or set \`MCP_BRIDGE_RUNTIME=auto\`.`,
    hasHint: true,
  },
  ENGINE_FAILED: {
    cause: 'The engine is too old, cannot see a folder of `MCP_BRIDGE_MOUNTS`, or is out of memory.',
    remedy: `The message includes the engine's own error. \`${COMMAND} doctor\` tries to start a sandbox in the same way.`,
    hasHint: true,
  },
  IMAGE_MISSING: {
    cause:
      'The image of `MCP_BRIDGE_IMAGE` is not on this machine, and it could not be pulled, or `MCP_BRIDGE_PULL` is `never`. The bridge uses no weaker engine instead.',
    remedy:
      'Check the name of the image and the network, then run the pull command in the hint, or set `MCP_BRIDGE_PULL=missing`. To run code without a container, set `MCP_BRIDGE_RUNTIME` to `bubblewrap` or `embedded`.',
    hasHint: true,
  },
  IMAGE_PULLING: {
    cause: 'The first cell on a machine pulls the image, which can take longer than a client waits.',
    remedy: 'Run the same cell again in a minute. The pull continues in the background.',
    hasHint: true,
  },
  IMAGE_UNSUITABLE: {
    cause: 'The image of `MCP_BRIDGE_IMAGE` has no `python3` on its PATH.',
    remedy: 'Use an image with Python 3.10 or newer, such as `python:3.14-slim`.',
    hasHint: true,
  },
  SESSION_START_TIMEOUT: {
    cause: 'Usually, the machine is overloaded.',
    remedy:
      "Run the cell again. If it also fails on an idle machine, look at the sandbox's output in the log on stderr.",
    hasHint: true,
  },
  SESSION_LOST: {
    cause:
      'The code used more memory than `MCP_BRIDGE_MEMORY` or ended Python (`os._exit`, a crash in C code), or the container was removed. The message says which.',
    remedy:
      'Variables and files are lost. Create them again, using less memory or a higher `MCP_BRIDGE_MEMORY`. Tool calls that had started may have taken effect.',
    hasHint: true,
  },
  SESSION_LIMIT: {
    cause: 'The maximum number of sessions exists, and all of them are running cells.',
    remedy: 'Use one of the sessions named in the hint, or wait until one of their cells ends.',
    hasHint: true,
  },
  HTTP_BUSY: {
    cause:
      'Over HTTP, a client sends more requests per second, or has more open, than its token may, a batch has more answers than may be unread, or the server is shutting down.',
    remedy:
      'Wait as long as the header `Retry-After` says and send the request again. The operator can raise the limits: `mcp-server-code-execution-mode help http` lists them.',
    hasHint: true,
  },
  HTTP_REFUSED: {
    cause:
      'Over HTTP, the token is missing or not valid, the host name or the origin is not allowed, or the request itself is malformed or too large. The message says which.',
    remedy: 'Correct the configuration of the client, or that of the server.',
    hasHint: true,
  },
  CHECK_FAILED: {
    cause: 'The code calls an unknown tool or a server that is not loaded, or an argument is missing or unknown.',
    remedy:
      'Correct the lines named in the message and run the whole cell again; load servers with the argument `servers`.',
    hasHint: true,
  },
  CELL_DEADLINE: {
    cause: 'The cell ran longer than `timeout`, or than `MCP_BRIDGE_TIMEOUT` if no `timeout` was given.',
    remedy:
      'Do less per cell, run slow calls concurrently with `asyncio.gather`, or raise `timeout`, up to `MCP_BRIDGE_MAX_TIMEOUT` (120 s by default). Variables are kept unless the message says otherwise.',
    hasHint: true,
  },
  CELL_CANCELLED: {
    cause: 'The client cancelled the request, a person stopped the cell, or the bridge was shutting down.',
    remedy:
      'There is nothing to fix. Effects of the cell so far remain, and variables are kept unless the message says otherwise.',
    hasHint: false,
  },
  LIMIT_CALLS: {
    cause: `The code makes more than ${inDigits(MAX_CALLS_PER_CELL)} calls in a cell, has ${inDigits(MAX_CALLS_WAITING)} calls waiting or runs more than ${MAX_JOBS} jobs in a session, usually in an endless loop or by not awaiting calls.`,
    remedy: 'Await results before making more calls, and split the work into several cells.',
    hasHint: false,
  },
  LIMIT_ARTIFACT: {
    cause:
      'A file passed to `runtime.save_artifact` is too large, or the session, or all sessions together, have saved too many.',
    remedy: 'Compress or split the file, reuse a name, or delete files from the folder named in the hint.',
    hasHint: true,
  },
  LIMIT_FRAME: {
    cause: 'The code passed a very large value to a tool or to `runtime`.',
    remedy: 'Send it in pieces, or write it to a file that the server can read.',
    hasHint: true,
  },
  LIMIT_RESULT: {
    cause:
      'One result is too large or has more than 2,000,000 values, or too many large results are waiting to be read by the code.',
    remedy:
      'Request less, for example with a filter, page by page, or from a smaller file. Await fewer large results at once.',
    hasHint: false,
  },
  PROTOCOL_VIOLATION: {
    cause: 'The host and sandbox parts of the bridge do not match, which should not happen with an intact package.',
    remedy: 'Reinstall the package. If that does not help, report it with the log from stderr.',
    hasHint: false,
  },
  CALL_REFUSED: {
    cause:
      'The code asked for something that is not allowed: an invalid name, a call between cells outside of a background job, or parameters that no proxy sends.',
    remedy:
      'Use the functions of `runtime` and the proxies of the servers; `print(runtime.capability_summary())` explains them.',
    hasHint: false,
  },
  CALL_TIMEOUT: {
    cause:
      'The server did not answer in time: within 10 minutes, the `timeout` of its entry, or the timeout set in the code.',
    remedy: 'Try again with more time. The call may still have taken effect.',
    hasHint: false,
  },
  CALL_CANCELLED: {
    cause: 'The cell ended, or the code cancelled the call, before the server answered.',
    remedy: 'There is nothing to fix. The call may have taken effect.',
    hasHint: false,
  },
  SERVER_NOT_AVAILABLE: {
    cause: 'The cell did not name the server in `servers`, or its file disables it.',
    remedy:
      'Run the cell again with the name; the server then stays loaded. `MCP_BRIDGE_AUTOLOAD=on` loads servers automatically, and `servers enable NAME` enables a server.',
    hasHint: true,
  },
  SERVER_UNKNOWN: {
    cause: 'The name is misspelled, or the bridge does not read the file that defines the server.',
    remedy: `\`runtime.find_servers()\` and \`${COMMAND} servers\` list the servers. Add a server with \`${COMMAND} servers add\`, or move those of your client with \`${COMMAND} install CLIENT --import\`.`,
    hasHint: true,
  },
  SERVER_START_FAILED: {
    cause:
      "The server's command is not installed, lacks an argument or variable, or exited at once. After several failures, the bridge waits a while before it tries again.",
    remedy: `Read the server's stderr in the message and correct its entry. \`${COMMAND} servers test NAME\` tries again, step by step.`,
    hasHint: true,
  },
  SERVER_UNREACHABLE: {
    cause:
      'The remote server is down, its host name cannot be resolved, the network or a proxy blocks the connection, or it answered HTTP 429 or 5xx.',
    remedy: 'Try its `url` from the same machine, for example with curl. The next call tries again.',
    hasHint: true,
  },
  LOGIN_REQUIRED: {
    cause:
      'The remote server answered HTTP 401 or 403: you are not logged in, the login has expired or lacks a scope, or the key in `headers` is invalid.',
    remedy: 'Run the command in the hint in a terminal, open the link in it, or correct `headers`.',
    hasHint: true,
  },
  LOGIN_FAILED: {
    cause:
      'The login was refused, cancelled or not finished in time, the server sent a URL that is not safe to open, or its authorization server is another one than before or does not support PKCE.',
    remedy: `The message gives the reason. To try again, run \`${COMMAND} servers login NAME\`.`,
    hasHint: true,
  },
  SECRET_UNAVAILABLE: {
    cause:
      "A reference in the server's entry (`${file:…}`, `${cmd:…}`, `${secret:…}`) did not resolve: the file is missing, the keyring is locked, the command failed or took longer than 30 s, or no such secret is stored.",
    remedy:
      'Check the file, run the command yourself (the message does not repeat its output), or store the secret with `secrets set NAME`. The next call tries again.',
    hasHint: true,
  },
  SERVER_EXITED: {
    cause: 'The server crashed or exited during a call. The message includes the end of its stderr.',
    remedy: 'The next call starts the server again. Check whether the failed call took effect before you repeat it.',
    hasHint: true,
  },
  SERVER_PROTOCOL: {
    cause: 'The server has a bug, writes logs to stdout, or nests its answer too deeply.',
    remedy: 'Update the server, or report the bug to its authors. Its other tools may work.',
    hasHint: false,
  },
  CAPABILITY_MISSING: {
    cause: 'The code asked for resources or prompts, and the server has none.',
    remedy: 'Use what the server offers; the hint lists it.',
    hasHint: true,
  },
  TOOL_UNKNOWN: {
    cause: "The tool's name is misspelled, or the server no longer offers it.",
    remedy:
      "`await runtime.query_tool_docs('NAME')` lists the tools of a server; `runtime.search_tool_docs` searches all servers.",
    hasHint: true,
  },
  TOOL_ARGUMENT_INVALID: {
    cause: 'An argument is missing, unknown, of the wrong type or out of range.',
    remedy: 'Use the signature in the message; `help(mcp_NAME.TOOL)` shows it too.',
    hasHint: false,
  },
  TOOL_CHANGED: {
    cause:
      'With `pin` set to `strict`, a tool must be accepted again after its definition changes, and a new tool must be accepted first.',
    remedy: `Do without the tool, or ask the person to review it with \`${COMMAND} servers approve NAME TOOL\`.`,
    hasHint: true,
  },
  CALL_NOT_RECORDED: {
    cause:
      'With `exec --replay`, calls are answered from a recording, which has this call with other arguments, less often, or not at all.',
    remedy: 'Compare the call with the nearest recorded one, which the hint names, or record the code again.',
    hasHint: true,
  },
  OUTCOME_UNKNOWN: {
    cause:
      'A scheduled run was interrupted after it had sent the call, and has no answer to it. A call that may change something is never sent twice.',
    remedy: 'Look at the server whether the call was made, and make it by hand if it was not.',
    hasHint: true,
  },
  TOOL_FAILED: {
    cause: "The tool could not do what the code asked for. The message is the server's.",
    remedy:
      'Fix what the message complains about. In code, catch `ToolError`; its `result` is the original answer. If the server refused the call with an error of the protocol instead, it is an `MCPError` whose `data["rpc_data"]` is what the server added to it, up to 8,000 characters.',
    hasHint: false,
  },
  ARTIFACT_UNKNOWN: {
    cause: 'No file with that name was saved in that session, or it was deleted.',
    remedy:
      '`runtime.list_artifacts()` lists all files with their sessions. `load_artifact(name, session)` loads one of another session.',
    hasHint: true,
  },
  POLICY_DENIED: {
    cause: "A rule of the person's policy denies this call, or the policy cannot be read.",
    remedy:
      'Do without the call, or tell the person what you need it for. Only the person can change the policy; the message names the rule and the file.',
    hasHint: true,
  },
  POLICY_LIMIT: {
    cause: "The call, or all calls together, exceed a limit of the person's policy.",
    remedy: 'Make fewer or smaller calls. The message names the limit and says whether the call was made.',
    hasHint: true,
  },
  APPROVAL_DENIED: {
    cause: 'A policy requires approval, and the person refused it. Nothing was sent.',
    remedy: 'Do without the call, or ask the person what they want instead.',
    hasHint: true,
  },
  APPROVAL_TIMEOUT: {
    cause:
      'A policy requires approval, and no answer came within `MCP_BRIDGE_APPROVAL_TIMEOUT`. Nothing was sent. Other calls of this cell that need approval fail at once.',
    remedy: 'Tell the person what they will be asked, and try again when they are back.',
    hasHint: true,
  },
  APPROVAL_UNAVAILABLE: {
    cause:
      'The client cannot ask about this call or this change of a saved function, the call comes from a background job, or the cell has asked too many questions. Nothing was sent or saved.',
    remedy: 'Do without the call, or tell the person, who can allow it in the policy or use a client that can ask.',
    hasHint: true,
  },
  PACKAGE_UNAVAILABLE: {
    cause:
      'No version of the package fits, its index cannot be reached or sends something else than it promised, the package store is full, or the engine cannot install packages. The message has the reason.',
    remedy:
      'Follow the hint. Nothing was installed, and the session and its variables are as before. After a failure, the same request is answered from memory for a minute.',
    hasHint: true,
  },
  STATE_WRITE_FAILED: {
    cause: "The disk is full, or you have no permission to write to the state directory or a client's file.",
    remedy: 'Free space, fix the permissions, or set `MCP_BRIDGE_STATE_DIR` to another folder.',
    hasHint: true,
  },
  AUDIT_UNAVAILABLE: {
    cause: 'The disk is full, or the folder `audit` is not writable or is a symbolic link.',
    remedy:
      'The cell was not run, or the call was not made. Fix the problem that the message names. With `MCP_BRIDGE_AUDIT=on`, cells run even if they cannot be recorded.',
    hasHint: true,
  },
  INTERNAL: {
    cause: 'A bug in the bridge.',
    remedy: 'Report it with the log from stderr. The next cell may work.',
    hasHint: false,
  },
};

/** One fact about a code, with its label. */
export type ErrorFact = readonly [name: string, text: string];

const FIXED_BY = {
  user: 'Whoever runs the bridge',
  model: 'Whoever wrote the code: usually the agent',
  us: 'The authors of the bridge',
} as const;

/** The facts about a code, in display order; the texts are Markdown. */
export function errorFacts(code: ErrorCode): readonly ErrorFact[] {
  const { meaning, fixedBy, retry, exitCode } = ERROR_CODES[code];
  const { cause, remedy } = ERROR_PAGES[code];
  return [
    ['Meaning', `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`],
    ['Usual cause', cause],
    ['What to do', remedy],
    ['Who can fix it', `${FIXED_BY[fixedBy]}.`],
    ['Retry', retry ? 'Retrying can help, even without a change.' : 'Retrying does not help unless something changes.'],
    ['Exit code', String(exitCode)],
  ];
}

/** What docs/reference/errors.md says about one code, as Markdown. */
export function renderErrorPage(code: ErrorCode): string {
  const facts = errorFacts(code).map(([name, text]) => `- **${name}**: ${text}\n`);
  return `# ${code}\n\n${facts.join('')}`;
}
