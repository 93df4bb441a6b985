/**
 * What there is to say of each error beyond its message: why it usually happens and what to do about it. Read by people in
 * docs/reference/errors.md, which is generated from it, and by `help CODE`. Apart from `errors.ts`, because a bridge at work never
 * needs these texts and would load them at every start.
 */
import { ERROR_CODES, type ErrorCode } from '../../base/errors.ts';
import { COMMAND } from '../../base/package.ts';

interface ErrorPage {
  /** Why it usually happens; whole sentences in Markdown. */
  readonly cause: string;
  /** What to do; whole sentences in Markdown. */
  readonly remedy: string;
  /** Whether every error of this code comes with a hint; else only where there is a next step to name. */
  readonly hasHint: boolean;
}

/** One page for each code; the type holds that none is missing. */
export const ERROR_PAGES: Readonly<Record<ErrorCode, ErrorPage>> = {
  ARGUMENT_INVALID: {
    cause:
      'One of `code`, `servers`, `timeout` and `session` has the wrong type, is out of range, or names a server that is not configured.',
    remedy: 'Correct the argument; the message says what is allowed. Nothing was run.',
    hasHint: false,
  },
  USAGE_INVALID: {
    cause: 'A command, option or value is misspelled, missing, or does not go with the others.',
    remedy: 'Run the command with `--help`.',
    hasHint: true,
  },
  CONFIG_INVALID: {
    cause: 'A setting has a value that is not allowed, or a server file or client file cannot be read.',
    remedy:
      'Correct what the message names. Settings are usually in the `env` of the entry that registers this server; `help settings` lists them.',
    hasHint: true,
  },
  ENGINE_UNAVAILABLE: {
    cause:
      'No engine works, or not the one that `MCP_BRIDGE_RUNTIME` names: it is not installed, not running, or not allowed for this user.',
    remedy: `Run \`${COMMAND} doctor\`, which gives the reason for each engine. Fix one, or set \`MCP_BRIDGE_RUNTIME=auto\`.`,
    hasHint: true,
  },
  ENGINE_FAILED: {
    cause:
      'The engine answered but did not start the sandbox: it is too old, cannot see a folder of `MCP_BRIDGE_MOUNTS`, could not pull the image, or is out of memory.',
    remedy: `Read the engine's own words in the message. \`${COMMAND} doctor\` tries the same start.`,
    hasHint: true,
  },
  IMAGE_MISSING: {
    cause: 'The image of `MCP_BRIDGE_IMAGE` is not on this machine, and `MCP_BRIDGE_PULL` is `never`.',
    remedy: 'Run the pull command of the hint, or set `MCP_BRIDGE_PULL=missing`.',
    hasHint: true,
  },
  IMAGE_PULLING: {
    cause: 'The first cell on a machine pulls the image, which takes longer than a client waits.',
    remedy: 'Run the same cell again in a minute. The pull goes on meanwhile.',
    hasHint: true,
  },
  IMAGE_UNSUITABLE: {
    cause: 'The image of `MCP_BRIDGE_IMAGE` has no `python3` on its PATH.',
    remedy: 'Use an image with Python 3.10 or newer, such as `python:3.14-slim`.',
    hasHint: true,
  },
  SESSION_START_TIMEOUT: {
    cause: 'Python in the sandbox was not ready in time, usually because the machine is overloaded.',
    remedy:
      "Run the cell again. If it also happens on an idle machine, the log on stderr has the sandbox's own output.",
    hasHint: true,
  },
  SESSION_LOST: {
    cause:
      'The code used more memory than `MCP_BRIDGE_MEMORY`, ended the interpreter (`os._exit`, a crash in C code), or somebody removed the container. The message says which.',
    remedy:
      'Variables and files are gone: create them again, with less memory or a higher `MCP_BRIDGE_MEMORY`. Tool calls that had begun may have taken effect.',
    hasHint: true,
  },
  SESSION_LIMIT: {
    cause: 'The largest number of sessions is running cells, and none is idle.',
    remedy: 'Use one of the sessions that the hint names, or wait for one of their cells.',
    hasHint: true,
  },
  CHECK_FAILED: {
    cause:
      'Before the cell ran, a call in it was found certain to fail: an unknown tool, a server that is not loaded, or a missing or unknown argument.',
    remedy:
      'Nothing has happened. Correct the lines in the message and run the whole cell again; load servers with the argument `servers`.',
    hasHint: true,
  },
  CELL_DEADLINE: {
    cause: 'The cell ran longer than `timeout`, or than `MCP_BRIDGE_TIMEOUT` if it named none.',
    remedy:
      'Do less per cell, make slow calls at once with `asyncio.gather`, or raise `timeout`, up to `MCP_BRIDGE_MAX_TIMEOUT`. Variables are kept unless the message says otherwise.',
    hasHint: true,
  },
  CELL_CANCELLED: {
    cause: 'The client gave up, a person stopped the cell, or the bridge was shutting down.',
    remedy:
      'There is nothing to fix. What the cell had done is done; variables are kept unless the message says otherwise.',
    hasHint: false,
  },
  LIMIT_CALLS: {
    cause:
      'The code makes too many calls or jobs: usually an endless loop, or thousands of calls that are not awaited.',
    remedy: 'Await results before making more calls, and split the work over several cells.',
    hasHint: false,
  },
  LIMIT_ARTIFACT: {
    cause: 'A file for `runtime.save_artifact` is too large, or the session has kept too many.',
    remedy: 'Save it in parts or compressed, reuse a name, or remove files from the folder that the hint names.',
    hasHint: true,
  },
  LIMIT_FRAME: {
    cause: 'The code passes a very large value to a tool or to `runtime`.',
    remedy: 'Send it in pieces, or put it into a file that the server can reach.',
    hasHint: true,
  },
  LIMIT_RESULT: {
    cause: 'A server answered with more than one result may hold, or too many large results are waiting for the code.',
    remedy: 'Ask for less: a filter, a page, a smaller file. Await fewer large results at once.',
    hasHint: false,
  },
  PROTOCOL_VIOLATION: {
    cause: 'The two halves of the bridge do not match. This does not happen with an intact package.',
    remedy: 'Install the package again. If that does not help, report it with the log on stderr.',
    hasHint: false,
  },
  CALL_REFUSED: {
    cause:
      'The code asked for something that is not allowed now: an unknown name or artifact, a call between cells outside a job, or parameters that no proxy sends.',
    remedy: 'Use the functions of `runtime` and the proxies; `help(runtime)` lists them.',
    hasHint: false,
  },
  CALL_TIMEOUT: {
    cause: 'The server did not answer within 10 minutes, the `timeout` of its entry, or what the code asked for.',
    remedy: 'Try again with more time. The call may still have taken effect.',
    hasHint: false,
  },
  CALL_CANCELLED: {
    cause: 'The cell ended, or the code cancelled the call, before the server answered.',
    remedy: 'There is nothing to fix. The call may have taken effect.',
    hasHint: false,
  },
  SERVER_NOT_AVAILABLE: {
    cause: 'The server is not loaded in this session, or it is disabled in its file.',
    remedy:
      'Run the cell again with its name in `servers`; loaded servers stay loaded. `MCP_BRIDGE_AUTOLOAD=1` loads servers by themselves, `servers enable NAME` enables one.',
    hasHint: true,
  },
  SERVER_UNKNOWN: {
    cause: 'The name is misspelled, or the file that defines the server is not read.',
    remedy: `\`runtime.find_servers()\` and \`${COMMAND} servers\` list the servers. Add one with \`${COMMAND} servers add\`, or move those of your client with \`${COMMAND} install CLIENT --import\`.`,
    hasHint: true,
  },
  SERVER_START_FAILED: {
    cause:
      "The server's command is not installed, lacks an argument or variable, or ended at once. After several failures it is left alone for a while.",
    remedy: `Read its stderr in the message and correct its entry. \`${COMMAND} servers test NAME\` tries again, step by step.`,
    hasHint: true,
  },
  SERVER_UNREACHABLE: {
    cause:
      'The remote server does not run, its name is unknown, the network or a proxy is in the way, or it answered HTTP 429 or 5xx.',
    remedy: 'Open its `url` from the same machine, for example with curl. The next call tries again.',
    hasHint: true,
  },
  LOGIN_REQUIRED: {
    cause:
      'The remote server answered HTTP 401 or 403: there is no login, it has expired, it lacks a scope, or the key in `headers` is not valid.',
    remedy: 'Run the command of the hint in a terminal, or correct `headers`.',
    hasHint: true,
  },
  LOGIN_FAILED: {
    cause:
      'The login was refused, cancelled or not finished in time, or the server named an address that must not be opened.',
    remedy: `Run \`${COMMAND} servers login NAME\` again; the message says what was in the way.`,
    hasHint: true,
  },
  SECRET_UNAVAILABLE: {
    cause:
      "A reference in the server's entry (`${file:…}`, `${cmd:…}`) gave no secret: the file is missing, the keyring is locked, or the command failed or took longer than 30 s.",
    remedy:
      'Check the file, or run the command by hand. The message names the entry, but nothing that the command printed. The next call tries again.',
    hasHint: true,
  },
  SERVER_EXITED: {
    cause: 'The server crashed or ended during calls. The message has the end of its stderr.',
    remedy: 'The next call starts it again. Check whether the call took effect before you repeat it.',
    hasHint: true,
  },
  SERVER_PROTOCOL: {
    cause: 'The answer is not valid MCP, or is nested too deeply. Some servers write other text to stdout.',
    remedy: 'Update the server, or report it to its authors. Its other tools may work.',
    hasHint: false,
  },
  CAPABILITY_MISSING: {
    cause: 'The code asked for resources or prompts, and the server has none.',
    remedy: 'Use what it offers; the hint lists it.',
    hasHint: true,
  },
  TOOL_UNKNOWN: {
    cause: "The tool's name is misspelled, or the server no longer offers it.",
    remedy:
      "`await runtime.query_tool_docs('NAME')` lists the tools of a server; `runtime.search_tool_docs` searches all.",
    hasHint: true,
  },
  TOOL_ARGUMENT_INVALID: {
    cause: 'An argument is missing, unknown, of the wrong type or out of range. Nothing was sent.',
    remedy: 'Use the signature in the message; `help(mcp_NAME.TOOL)` shows it too.',
    hasHint: false,
  },
  TOOL_CHANGED: {
    cause: 'The tool is new, or its definition changed since it was accepted, and `pin` is `strict`. Nothing was sent.',
    remedy: `Do without the tool, or ask the person to review the change with \`${COMMAND} servers approve NAME TOOL\`.`,
    hasHint: true,
  },
  TOOL_FAILED: {
    cause: "The server took the call and answered that it failed. The message is the server's.",
    remedy: 'Fix what it complains about. In code, catch `ToolError`; its `result` is the untouched answer.',
    hasHint: false,
  },
  POLICY_DENIED: {
    cause: "A rule of the person's policy denies this call, or the policy cannot be read. Nothing was sent.",
    remedy:
      'Do without the call, or tell the person what it is for. Only the person changes the policy; the message names rule and file.',
    hasHint: true,
  },
  POLICY_LIMIT: {
    cause: "The call, or all calls together, exceed a limit of the person's policy.",
    remedy: 'Make fewer or smaller calls. The message names the limit, and says whether the call was made.',
    hasHint: true,
  },
  APPROVAL_DENIED: {
    cause: 'The policy wants the person to be asked, and the person said no. Nothing was sent.',
    remedy: 'Do without the call, or ask the person what they want instead.',
    hasHint: true,
  },
  APPROVAL_TIMEOUT: {
    cause:
      'The person was asked and did not answer within `MCP_BRIDGE_APPROVAL_TIMEOUT`. Nothing was sent; further questions of the same cell end at once.',
    remedy: 'Tell the person what will be asked, and try again when they are there.',
    hasHint: true,
  },
  APPROVAL_UNAVAILABLE: {
    cause:
      'The policy wants the person to be asked, but the client cannot ask, a background job makes the call, or the cell has asked too often. Nothing was sent.',
    remedy: 'Do without the call, or tell the person, who can allow it in the policy or use a client that can ask.',
    hasHint: true,
  },
  STATE_WRITE_FAILED: {
    cause: "The disk is full, or this user may not write the state directory or a client's file.",
    remedy: 'Free space, fix the permissions, or set `MCP_BRIDGE_STATE_DIR` to another folder.',
    hasHint: true,
  },
  AUDIT_UNAVAILABLE: {
    cause:
      '`MCP_BRIDGE_AUDIT` is `required`, and the record could not be written: the disk is full, or the folder `audit` cannot be written or is a link.',
    remedy: 'The cell was not run. Fix what the message names. With `MCP_BRIDGE_AUDIT=1`, cells run without a record.',
    hasHint: true,
  },
  INTERNAL: {
    cause: 'A bug in the bridge.',
    remedy: 'Report it with the lines in the log on stderr. The next cell may work.',
    hasHint: false,
  },
};

/** One fact about a code, with its name. */
export type ErrorFact = readonly [name: string, text: string];

const FIXED_BY = {
  user: 'Whoever runs the bridge',
  model: 'Whoever wrote the code: usually the agent',
  us: 'The authors of the bridge',
} as const;

/** What is shown of a code, in the order in which it is shown; the texts are Markdown. */
export function errorFacts(code: ErrorCode): readonly ErrorFact[] {
  const { meaning, fixedBy, retry, exitCode } = ERROR_CODES[code];
  const { cause, remedy } = ERROR_PAGES[code];
  return [
    ['Meaning', `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`],
    ['Usual cause', cause],
    ['What to do', remedy],
    ['Who can fix it', `${FIXED_BY[fixedBy]}.`],
    ['Retry', retry ? 'Can help, without a change.' : 'Does not help without a change.'],
    ['Exit code', String(exitCode)],
  ];
}
