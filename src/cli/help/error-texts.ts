/**
 * What there is to say of each error beyond its message: why it usually happens and what to do about it. Read by people in
 * docs/errors.md, which is generated from it, and by `help CODE`. Apart from `errors.ts`, because a bridge at work never
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

const CELL_RULES = '`run_python` has the arguments `code`, `servers`, `timeout` and `session`.';

/** One page for each code; the type holds that none is missing. */
export const ERROR_PAGES: Readonly<Record<ErrorCode, ErrorPage>> = {
  ARGUMENT_INVALID: {
    cause: `${CELL_RULES} One of them has the wrong type, is out of its bounds, or names a server that is not configured. Nothing was run.`,
    remedy:
      'Correct the argument that the message names; it also says what is allowed. Longest deadline and servers are settings: `help configuration` lists them.',
    hasHint: false,
  },
  USAGE_INVALID: {
    cause: 'A command, an option or a value was misspelled, is missing, or does not go with the others.',
    remedy: 'Run the command with `--help`; the message names the word that was not understood, and what is near it.',
    hasHint: true,
  },
  CONFIG_INVALID: {
    cause:
      'An environment variable has a value that is not allowed, or a file of servers or of a client cannot be read as what it should be.',
    remedy:
      'Correct what the message names. Variables usually stand in the `env` of the entry that registers this server; `help configuration` lists all with what they allow.',
    hasHint: true,
  },
  ENGINE_UNAVAILABLE: {
    cause:
      'None of podman, docker, bubblewrap and the embedded engine can be used here, or not the one that `MCP_BRIDGE_RUNTIME` names: it is not installed, its service does not run, or this user may not use it.',
    remedy: `Run \`${COMMAND} doctor\`: it tries each engine and says for each what is in the way. Fix one of them, or set \`MCP_BRIDGE_RUNTIME=auto\`.`,
    hasHint: true,
  },
  ENGINE_FAILED: {
    cause:
      'The engine is there and answered, but did not start the sandbox: it is too old for a flag, cannot see a folder of `MCP_BRIDGE_MOUNTS`, could not pull the image, or has too little memory.',
    remedy: `Read the words of the engine in the message. \`${COMMAND} doctor\` tries the same start; the hint has a command that shows the failure without this bridge where there is one.`,
    hasHint: true,
  },
  IMAGE_MISSING: {
    cause: 'The image of `MCP_BRIDGE_IMAGE` was never pulled on this machine, and `MCP_BRIDGE_PULL` is `never`.',
    remedy: 'Run the pull command of the hint, or set `MCP_BRIDGE_PULL=missing` so that the first cell pulls it.',
    hasHint: true,
  },
  IMAGE_PULLING: {
    cause: 'The first cell on a machine pulls the image, which takes longer than a client waits for an answer.',
    remedy: 'Run the same cell again in a minute; the pull goes on meanwhile, and the message says how far it is.',
    hasHint: true,
  },
  IMAGE_UNSUITABLE: {
    cause: 'The image of `MCP_BRIDGE_IMAGE` has no `python3` on its PATH.',
    remedy: 'Set `MCP_BRIDGE_IMAGE` to an image with Python 3.10 or newer, such as `python:3.14-slim`.',
    hasHint: true,
  },
  SESSION_START_TIMEOUT: {
    cause: 'The sandbox was started, but Python in it was not ready in time. Usually the machine is overloaded.',
    remedy:
      'Run the cell again. If it happens on an idle machine, look at the log on stderr: it has what the sandbox said.',
    hasHint: true,
  },
  SESSION_LOST: {
    cause:
      'The sandbox ended while the cell ran: the code used more memory than `MCP_BRIDGE_MEMORY`, ended the interpreter (`os._exit`, a crash in C code), or somebody removed the container. The message says which.',
    remedy:
      'Variables and files of the session are gone. Run what made them again, with less memory at once or a higher `MCP_BRIDGE_MEMORY`. Calls of tools that had begun may have had their effect.',
    hasHint: true,
  },
  SESSION_LIMIT: {
    cause: 'As many sessions as may be are running cells at this moment, and none is idle that could make room.',
    remedy: 'Use one of the sessions that the hint names, or wait until one of their cells is done.',
    hasHint: true,
  },
  CHECK_FAILED: {
    cause:
      'The code was read before it ran, and a call in it was certain to fail: a server that is not loaded, a tool that does not exist, or an argument that is missing or unknown.',
    remedy:
      'Nothing in the cell has happened. Correct the lines that the message shows and run the whole cell again. Servers are loaded with the argument `servers` of `run_python`.',
    hasHint: true,
  },
  CELL_DEADLINE: {
    cause: 'The cell ran longer than its deadline: `timeout` of the call, else `MCP_BRIDGE_TIMEOUT`.',
    remedy:
      'Do less in one cell, make slow calls at once with `asyncio.gather`, or ask for more with `timeout`, up to `MCP_BRIDGE_MAX_TIMEOUT`. Variables are kept unless the message says that the session was ended.',
    hasHint: true,
  },
  CELL_CANCELLED: {
    cause: 'The client gave up waiting for the cell, a person stopped it, or the bridge was shutting down.',
    remedy:
      'Nothing has to be mended. What the cell had done until then is done; variables are kept unless the message says otherwise.',
    hasHint: false,
  },
  LIMIT_CALLS: {
    cause:
      'Code makes calls of tools, or jobs, faster or in larger numbers than is allowed. Mostly a loop without an end, or thousands of calls started before the first was awaited.',
    remedy: 'Await results before starting further calls, and split the work over several cells.',
    hasHint: false,
  },
  LIMIT_ARTIFACT: {
    cause: 'A file given to `runtime.save_artifact` is too large, or the session has kept as many as it may.',
    remedy:
      'Save it in parts or compressed, save under a name that is not needed any more, or remove files from the folder that the hint names.',
    hasHint: true,
  },
  LIMIT_FRAME: {
    cause: 'Code passes a very large value to a tool or to `runtime`: it would be one line that is longer than may be.',
    remedy: 'Send less at once, or in pieces. Large data is better kept in a file that the server can reach.',
    hasHint: true,
  },
  LIMIT_RESULT: {
    cause: 'A server answered with more than one result may have, or many large results wait to be taken by the code.',
    remedy: 'Ask the tool for less: a filter, a page, a smaller file. Await fewer large results at once.',
    hasHint: false,
  },
  PROTOCOL_VIOLATION: {
    cause:
      'Kernel and host do not speak the same protocol. It does not happen with a package that is whole: both sides come from it.',
    remedy: 'Install the package anew. If it stays, report it with the log on stderr.',
    hasHint: false,
  },
  CALL_REFUSED: {
    cause:
      'Code asked the host for something it may not have now: a name that is not allowed, an artifact that is not there, a call between cells outside of a job, or parameters that no proxy would send.',
    remedy:
      'The message says what was refused. Use the functions of `runtime` and the proxies; `help(runtime)` lists them.',
    hasHint: false,
  },
  CALL_TIMEOUT: {
    cause:
      'The server did not answer within the deadline of the call: 10 minutes, `timeout` of its entry, or what the code asked for.',
    remedy:
      'Try again with more time, or raise `timeout` (seconds) in the entry of the server. The call may still have had its effect.',
    hasHint: false,
  },
  CALL_CANCELLED: {
    cause: 'The call was under way when its cell ended, or the code cancelled it. The server was told.',
    remedy: 'Nothing has to be mended. The call may have had its effect before the server heard of it.',
    hasHint: false,
  },
  SERVER_NOT_AVAILABLE: {
    cause: 'The server is configured, but it is not loaded in this session, or it is disabled in its file.',
    remedy:
      "Run the cell again with its name in `servers`, for example `servers=['github']`. Loaded servers stay loaded. Whoever runs the bridge can set `MCP_BRIDGE_AUTOLOAD=1`. `servers enable NAME` enables a disabled server.",
    hasHint: true,
  },
  SERVER_UNKNOWN: {
    cause: 'The name is misspelled, or the file that defines the server is not read.',
    remedy: `\`runtime.find_servers()\` and \`${COMMAND} servers\` show which servers there are. To add one, put a file into the state directory or move those of your client with \`${COMMAND} install CLIENT --import\`. More: \`${COMMAND} help configuration server-files\`.`,
    hasHint: true,
  },
  SERVER_START_FAILED: {
    cause:
      'The command of the server is not installed, needs an argument or a variable that its entry does not give, or ended at once. After several failures it is left alone for a while.',
    remedy: `Read the end of its stderr in the message, run the command of the hint by hand, and correct the entry in the file of the server. \`${COMMAND} servers test NAME\` tries again, step by step.`,
    hasHint: true,
  },
  SERVER_UNREACHABLE: {
    cause:
      'The server of an entry with a `url` does not run, its name is unknown, the network is in the way, or it answered that it is down (HTTP 429 and 5xx). Or a proxy is in the way: then the message names it and its variable.',
    remedy:
      'Open the `url` of the entry from the same machine, for example with curl. Other servers go on working; the next call tries this one again.',
    hasHint: true,
  },
  LOGIN_REQUIRED: {
    cause:
      'A remote server refused a request (HTTP 401 or 403): nobody has logged in there, the login ended, it lacks a scope, or the `headers` of the entry hold a key that is not valid.',
    remedy:
      'Run the command of the hint in a terminal: it opens the browser and keeps the login. For an entry with a key of its own, correct its `headers`.',
    hasHint: true,
  },
  LOGIN_FAILED: {
    cause:
      'The login was refused or cancelled in the browser, was not finished in time, or the server named an address that must not be opened.',
    remedy: `Run \`${COMMAND} servers login NAME\` again; the message says what was in the way.`,
    hasHint: true,
  },
  SECRET_UNAVAILABLE: {
    cause:
      'The entry of the server takes a secret from a file or a command (`${file:…}`, `${cmd:…}`), and that gave none: the file is missing, the keyring is locked, the command failed or took longer than 30 s.',
    remedy:
      'Run the command by hand, or look at the file; the message names the place in the entry, how the command ended, and nothing that it printed. The next call tries again.',
    hasHint: true,
  },
  SERVER_EXITED: {
    cause: 'The server crashed, or ended itself, while calls were in flight. The message has the end of its stderr.',
    remedy: 'The next call starts it again. Check whether the call had its effect before you repeat it.',
    hasHint: true,
  },
  SERVER_PROTOCOL: {
    cause:
      'The answer of the server is not what MCP asks for, or is nested too deep. Often a server writes something else to its stdout.',
    remedy: 'Update the server, or report it to its authors. Other tools of it may work.',
    hasHint: false,
  },
  CAPABILITY_MISSING: {
    cause: 'Code asked the server for resources or prompts, and the server says that it has none.',
    remedy: 'Use what it does offer; the hint lists it.',
    hasHint: true,
  },
  TOOL_UNKNOWN: {
    cause: 'The name of the tool is misspelled, or the server does not offer it any more.',
    remedy:
      "Look it up: `await runtime.query_tool_docs('NAME')` lists the tools of a server, `runtime.search_tool_docs` searches all.",
    hasHint: true,
  },
  TOOL_ARGUMENT_INVALID: {
    cause: 'An argument is missing, unknown, of the wrong type, or outside of what the tool allows. Nothing was sent.',
    remedy: 'Call it with the signature that the message or its hint shows; `help(mcp_NAME.TOOL)` shows it too.',
    hasHint: false,
  },
  TOOL_CHANGED: {
    cause:
      'The server says something else of the tool than when it was accepted, or has a tool that it did not have, and the person wants to look at that first (`pin` is `strict`). Nothing was sent.',
    remedy: `Do without the tool, or tell the person, who looks at the change and accepts it with \`${COMMAND} servers approve NAME TOOL\`. The next call then passes.`,
    hasHint: true,
  },
  TOOL_FAILED: {
    cause: 'The server took the call and answered that it failed. The message is what the server said.',
    remedy: 'Fix what the server complains about. In code, catch `ToolError`; its `result` is the untouched answer.',
    hasHint: false,
  },
  POLICY_DENIED: {
    cause:
      'A rule that the person set up denies this call, or the file with the rules cannot be read and every call is refused until it can. Nothing was sent.',
    remedy:
      'Do without the call, or tell the person what it is for. The message names the rule and its file, which only the person changes.',
    hasHint: true,
  },
  POLICY_LIMIT: {
    cause: 'The calls together are more, or one is slower or larger, than a limit that the person set up allows.',
    remedy: 'Make fewer or smaller calls; the message names the limit, and says whether the call was made.',
    hasHint: true,
  },
  APPROVAL_DENIED: {
    cause: 'A rule wants the person to be asked about this call; they were, and said no. Nothing was sent.',
    remedy: 'Do without the call, or ask the person what they would rather have.',
    hasHint: true,
  },
  APPROVAL_TIMEOUT: {
    cause:
      'A rule wants the person to be asked about this call; they were, and did not answer in the time of `MCP_BRIDGE_APPROVAL_TIMEOUT`. Nothing was sent. Further questions of the same cell end so at once.',
    remedy: 'Tell the person what will be asked, and try again when they are there.',
    hasHint: true,
  },
  APPROVAL_UNAVAILABLE: {
    cause:
      'A rule wants the person to be asked about this call, and the MCP client has no way to ask or failed to, a background job makes it, or the cell has asked too often. Nothing was sent.',
    remedy: 'Do without the call, or tell the person, who can allow it in the policy or use a client that can ask.',
    hasHint: true,
  },
  STATE_WRITE_FAILED: {
    cause: 'The disk is full, or the state directory or a file of a client cannot be written by this user.',
    remedy: 'Make room, make it writable, or set `MCP_BRIDGE_STATE_DIR` to a folder that is.',
    hasHint: true,
  },
  AUDIT_UNAVAILABLE: {
    cause:
      '`MCP_BRIDGE_AUDIT` is `required`, and the record of the cell could not be written: the disk is full, or the folder `audit` in the state directory cannot be written, or is a link.',
    remedy:
      'The cell was not run. Make room or make the folder writable; the message has the reason. With `MCP_BRIDGE_AUDIT=1` cells run without a record while none can be kept.',
    hasHint: true,
  },
  INTERNAL: {
    cause: 'Something happened that the bridge does not expect.',
    remedy: 'Look at the log on stderr and report it with the lines there. The next cell may work.',
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
